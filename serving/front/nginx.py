"""The configuration of the front proxy. Every default that matters is written out: they differ between versions.

Two servers. The outer one asks for the token before anything else, knows the paths, and reads the whole body. The
inner one, on a Unix socket that only nginx sees, asks the agent whether the request may pass (`auth_request`) and
forwards it: so nothing is admitted whose body is still arriving. Without an agent there is no inner one.
"""

from dataclasses import dataclass

from serving.front import ALIVE_PATH, METRICS_PATH, READY_PATH
from serving.front.errors import EARLY, body, pages
from serving.front.settings import FrontSettings

WORKERS = 2

KEPT = 256
"""Idle connections to the engine that a worker keeps."""

ENGINE_KEEPALIVE = 4
"""Seconds. Uvicorn closes an idle connection after 5, in old and new versions of vLLM; with `proxy_next_upstream off` a
request on a connection that has just been closed would be a 502."""

FILES_BESIDE = 64
"""Open files of a worker that are no client's: its listening sockets, its logs, its channels to the other processes."""

QUIET = "error_log stderr emerg;"
"""Where a request is sent on. nginx writes it down with each error there, query and referrer included: `error` when the
engine is gone, `crit` when the disk is full, `alert` when connections are used up. The access log has the status."""

GATE_SLACK, OUTER_SLACK = 5, 10
"""Seconds beyond what is waited for inside, so that the inner one says what happened."""


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Where everything is."""

    listen: str
    """As in `listen`: a port, or address:port."""
    engine: str
    """host:port."""
    gate: str | None
    """host:port of the agent, TCP and UDP; None: there is no agent."""
    tokens: str | None
    """File of `token_map`; None: no token is asked for."""
    folder: str
    """Writable."""


def nginx_conf(addresses: Addresses, settings: FrontSettings, hold_seconds: int = 0) -> str:
    """Return the whole nginx.conf.

    Args:
        addresses: of everything.
        settings: of the stack file.
        hold_seconds: that the agent may hold a request.
    """
    listed = pages(settings.max_body_mib)
    # "=": the page says the status itself; 494 is a header that is too long
    errors = "".join(f"    error_page {page.status} = {page.location};\n" for page in listed)
    errors += f"    error_page 494 = {EARLY}400;\n"
    locations = "".join(page.rendered() for page in listed)
    inner = addresses.gate is not None
    silent = settings.read_seconds + (hold_seconds + OUTER_SLACK if inner else 0)
    return f"""\
{_main(addresses, settings)}
{_upstreams(addresses)}
{_who(addresses)}
server {{
    listen {addresses.listen} backlog=4096;
    server_name _;

{errors}
    # before the path, the size and the body are looked at
    if ($stranger) {{ return 401; }}

{_open_paths(addresses)}
    # what the engine can tell in its sleep wakes nobody
    location = /v1/models {{ {QUIET} if ($odd) {{ return 404; }} proxy_pass http://engine; }}
    location /v1/ {{
        {QUIET}
        if ($odd) {{ return 404; }}
        proxy_read_timeout {silent}s;
        proxy_pass http://{"inner" if inner else "engine"};
    }}
    # else it would be redirected to /v1/
    location = /v1 {{ return 404; }}
    location / {{ return 404; }}

{locations}}}
{_inner(addresses, hold_seconds, errors, locations) if inner else ""}}}
"""


def _main(addresses: Addresses, settings: FrontSettings) -> str:
    folder = addresses.folder
    temporary = "".join(
        f"    {kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""\
daemon off;
worker_processes {WORKERS};
# a body may lie in a file beside each connection; a node's own limit may be 1024
worker_rlimit_nofile {2 * settings.connections + FILES_BESIDE};
pid {folder}/nginx.pid;
error_log stderr error;

events {{
    worker_connections {settings.connections};
    multi_accept off;
    accept_mutex off;
}}

http {{
    default_type text/plain;
    server_tokens off;
    absolute_redirect off;
    merge_slashes on;
    ignore_invalid_headers on;
    underscores_in_headers off;
    gzip off;
    sendfile off;
    tcp_nodelay on;
    reset_timedout_connection off;
{temporary}
    # neither query, headers nor bodies: secrets end up in all three. The other log has them wherever it has a request
    error_log stderr crit;
    log_format front escape=json
        '{{"time":"$time_iso8601","id":"$request_id","from":"$remote_addr","method":"$request_method","path":"$uri",'
        '"status":$status,"received":$request_length,"sent":$bytes_sent,"seconds":$request_time}}';
    log_format ended '$http_x_request_id';
    access_log /dev/stdout front if=$logged;

    # from clients
    client_header_timeout 15s;
    client_header_buffer_size 4k;
    large_client_header_buffers 4 16k;
    client_max_body_size {settings.max_body_mib}m;
    client_body_buffer_size 128k;
    client_body_timeout {settings.body_seconds}s;
    send_timeout {settings.send_seconds}s;
    keepalive_timeout 75s;
    keepalive_requests 10000;
    lingering_close on;
    lingering_time 30s;
    lingering_timeout 5s;

    # to the engine
    proxy_http_version 1.1;
{_headers("    ", "$request_id", "$proxy_add_x_forwarded_for")}
    proxy_connect_timeout 5s;
    proxy_send_timeout {settings.read_seconds}s;
    proxy_read_timeout {settings.read_seconds}s;
    proxy_request_buffering on;
    proxy_buffering off;
    proxy_buffer_size 16k;
    proxy_buffers 8 16k;
    proxy_busy_buffers_size 32k;
    proxy_max_temp_file_size 0;
    proxy_next_upstream off;
    proxy_intercept_errors off;
    proxy_ignore_client_abort off;
    proxy_ignore_headers X-Accel-Redirect X-Accel-Buffering X-Accel-Limit-Rate X-Accel-Charset X-Accel-Expires;
    proxy_redirect off;
    proxy_cache off;
    recursive_error_pages off;
"""


def _headers(indent: str, request_id: str, forwarded_for: str) -> str:
    """Return what goes with a request. All of it each time: a level that sets one header inherits none.

    The token stays here: the engine has no use for it.
    """
    headers = {
        "Connection": "",
        "Host": "$host",
        "Authorization": "",
        "X-Request-Id": request_id,
        "X-Forwarded-For": forwarded_for,
    }
    return "\n".join(f'{indent}proxy_set_header {name} "{value}";' for name, value in headers.items())


def _upstreams(addresses: Addresses) -> str:
    def upstream(name: str, server: str, seconds: int) -> str:
        return (
            f"upstream {name} {{\n    server {server} max_fails=0;\n    keepalive {KEPT};\n"
            f"    keepalive_timeout {seconds}s;\n    keepalive_requests 100000;\n}}\n"
        )

    found = upstream("engine", addresses.engine, ENGINE_KEEPALIVE)
    if addresses.gate is not None:
        found += upstream("inner", f"unix:{addresses.folder}/inner.sock", 60)
        found += upstream("agent", addresses.gate, 60)
    return found


def _who(addresses: Addresses) -> str:
    """Return the maps that say who calls, and whether the path is one that nginx and the engine read alike."""
    known = f"    include {addresses.tokens};\n" if addresses.tokens else "    default 1;\n"
    agents = (READY_PATH, METRICS_PATH) if addresses.gate else ()
    own = "|".join(path.removeprefix("/") for path in ("/health", "/metrics", ALIVE_PATH, *agents))
    return f"""\
map $http_authorization $known {{
    volatile;
{known}}}
# kubelet and Prometheus have no token
map $uri $open {{ default ""; "~^/({own})\\z" 1; "~^{EARLY}" 1; }}
map $open $logged {{ default 1; 1 0; }}
map "$known$open" $stranger {{ default 0; "" 1; }}
# of those paths: sent on as it was written, it must be that path; a body would be read and kept, whoever sends it
map $request_uri $disguised {{ default 1; "~^/({own})(\\?[^#]*)?\\z" 0; }}
map $request_method $changing {{ default 1; "~^(GET|HEAD)\\z" 0; }}
map "$http_transfer_encoding$content_length" $laden {{ default 1; "" 0; 0 0; }}
# neither dots, nor encoded letters, nor empty segments: what is compared is what is sent on
map $request_uri $odd {{ default 1; "~^/v1(/[A-Za-z0-9_~:@-][A-Za-z0-9._~:@-]*)+(\\?[^#]*)?\\z" 0; }}
"""


def _open_paths(addresses: Addresses) -> str:
    """Return the locations that ask for no token: questions without a body, and nothing else."""
    answers = {
        ALIVE_PATH: 'default_type text/plain; return 200 "alive\\n";',
        **dict.fromkeys(("/health", "/metrics"), "proxy_pass http://engine;"),
    }
    if addresses.gate is not None:
        answers |= dict.fromkeys((READY_PATH, METRICS_PATH), "proxy_read_timeout 5s; proxy_pass http://agent;")
    return "".join(
        f"""\
    location = {path} {{
        {QUIET}
        if ($disguised) {{ return 404; }}
        if ($changing) {{ return 405; }}
        if ($laden) {{ return 400; }}
        {answer}
    }}
"""
        for path, answer in answers.items()
    )


def _inner(addresses: Addresses, hold: int, errors: str, locations: str) -> str:
    refusal = body(503, "server_error", "The server cannot take the request now: $why.")
    return f"""
server {{
    listen unix:{addresses.folder}/inner.sock backlog=4096;
    server_name _;
    # the agent counts by it what is with the engine
    access_log syslog:server={addresses.gate},nohostname,tag=front ended;

{errors}
    # the outer one sends whole bodies, and has sent them away that were too large
    client_max_body_size 0;
    keepalive_timeout 75s;

    location / {{
        {QUIET}
        auth_request /gate;
        auth_request_set $why $upstream_http_x_why;
        auth_request_set $later $upstream_http_retry_after;
        error_page 403 = @refused;
        # the agent is not there
        error_page 500 = @error-503;
        error_page 502 = @error-502;
        error_page 504 = @error-504;
        proxy_request_buffering off;
{_headers("        ", "$http_x_request_id", "$http_x_forwarded_for")}
        proxy_pass http://engine;
    }}
    location = /gate {{
        internal;
        {QUIET}
        proxy_pass_request_body off;
        proxy_pass_request_headers off;
{_headers("        ", "$http_x_request_id", "")}
        proxy_set_header Content-Length "";
        proxy_read_timeout {hold + GATE_SLACK}s;
        # it may be asked twice: an id counts once
        proxy_next_upstream error;
        proxy_pass http://agent;
    }}
    location @refused {{
        internal;
        default_type application/json;
        add_header Retry-After $later always;
        return 503 '{refusal}';
    }}
{locations}}}
"""
