#!/bin/bash
# Pulls each image that is named, one after the other, into the namespace of containerd that kubelet looks in. Every
# wait is bounded, and the exit code is always 0: a node without the images is slower, not broken.
set -u -o pipefail

readonly ATTEMPTS=5 PULL_SECONDS=600 LOGIN_SECONDS=60
# of this unit alone, gone with it whatever ends it: in /root/.docker SOCI would prefer an expired password of ours to
# kubelet's fresh one
export DOCKER_CONFIG=${RUNTIME_DIRECTORY:?started without systemd}
declare -A signed_in=()

say() { echo "prepull: $*"; }

# $1: host of a registry. Nothing to do but for ECR, whose password opens every registry of its region.
sign_in() {
    [[ $1 =~ ^[0-9]{12}\.dkr[.-]ecr\.([a-z0-9-]+)\.(amazonaws\.com(\.cn)?|on\.aws)$ ]] || return 0
    signed_in[$1]=1
    timeout "$LOGIN_SECONDS" aws ecr get-login-password --region "${BASH_REMATCH[1]}" |
        timeout "$LOGIN_SECONDS" nerdctl login --username AWS --password-stdin "https://$1" >/dev/null
}

# shellcheck disable=SC2329 # the trap calls it
sign_out() {
    local registry
    for registry in "${!signed_in[@]}"; do
        timeout "$LOGIN_SECONDS" nerdctl logout "$registry" >/dev/null || say "still signed in to $registry"
    done
}

pull() {
    local image=$1 attempt start=$SECONDS
    for ((attempt = 1; attempt <= ATTEMPTS; attempt++)); do
        ((attempt == 1)) || sleep $((2 ** attempt))
        # anew each time: a password that was refused would be refused again
        if sign_in "${image%%/*}" &&
            timeout "$PULL_SECONDS" nerdctl --namespace k8s.io pull --quiet "$image" >/dev/null; then
            say "pulled $image in $((SECONDS - start)) s at attempt $attempt"
            return
        fi
        say "attempt $attempt of $ATTEMPTS failed for $image"
    done
    say "gave up on $image after $((SECONDS - start)) s"
}

trap sign_out EXIT
trap 'say "stopped"; exit 0' TERM
for image in "$@"; do
    pull "$image"
done
exit 0
