#!/bin/sh
# Runs nginx in the foreground: entry.sh CONFIG FOLDER [TOKENS]. kubelet renews the file TOKENS in place: when its
# content changes, nginx reads it anew, and running streams go on. Ends as nginx ends.
set -u
config=$1 folder=$2 tokens=${3:-}
period=${TOKENS_PERIOD:-5}

# a nginx that was killed leaves its socket behind, and the next one could not listen
rm -f "$folder"/*.sock "$folder/nginx.pid"

# the order to stop is QUIT for nginx (requests end), TERM for kubelet, and QUIT again where the image says so
stopping=
trap 'stopping=1; [ -n "${nginx:-}" ] && kill -QUIT "$nginx"' TERM QUIT INT
nginx -p "$folder" -c "$config" &
nginx=$!
[ -n "$stopping" ] && kill -QUIT "$nginx"

if [ -n "$tokens" ]; then
    (
        trap - TERM QUIT INT
        seen=$(cksum <"$tokens")
        while sleep "$period" && kill -0 "$nginx" 2>/dev/null; do
            now=$(cksum <"$tokens") || continue
            if [ "$now" != "$seen" ]; then
                seen=$now
                # nginx keeps the old ones when it cannot read the new ones, and says so
                kill -HUP "$nginx"
            fi
        done
    ) &
    watcher=$!
fi

# a signal ends a wait, not nginx: the next one tells how nginx has ended
wait "$nginx"
code=$?
while kill -0 "$nginx" 2>/dev/null; do
    wait "$nginx"
    code=$?
done
[ -n "$stopping" ] && code=0
[ -n "${watcher:-}" ] && kill "$watcher" 2>/dev/null
exit "$code"
