#!/bin/sh
# Installs the runner of the Sandbridge server at @SERVER@ on this machine, and starts it in the current directory:
#
#     … | SANDBRIDGE_TOKEN=TOKEN sh -s -- --name NAME [OPTIONS]
#
#   --service         keeps it running (systemd) instead of running it in this terminal
#   --workspace DIR   lets commands work in DIR instead of the current directory
#   --prefix DIR      installs DIR/bin/sandbridge-runner; without it ~/.local, for root /usr/local
#   --ca-cert FILE    trusts the authorities in FILE too; without it those in CURL_CA_BUNDLE or SSL_CERT_FILE, where one is set
#   --uninstall       stops the runner, and removes it with everything that it and this script made
#
# Any other option is the runner's: see sandbridge-runner --help. The token is unset before anything else runs.
# The braces around it all make the shell read it whole first: a script that was cut off does nothing.
{
set -eu
token=${SANDBRIDGE_TOKEN:-}
unset SANDBRIDGE_TOKEN

server=@SERVER@
version=@VERSION@
arch=@ARCH@
sha256=@SHA256@
size_kib=@SIZE_KIB@

newline='
'
say() { printf 'sandbridge: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

# Reads the options. Those of the runner stay in "$@".
read_options() {
    service='' uninstall='' prefix='' name='' workspace='' ca_cert='' state='' insecure='' default_ca_cert=''
    previous=''
    for word in "$@"; do
        case $previous in
            --prefix) prefix=$word ;;
            --name) name=$word ;;
            --workspace) workspace=$word ;;
            --ca-cert) ca_cert=$word ;;
            --state-dir) state=$word ;;
        esac
        case $word in
            --service) service=1 ;;
            --uninstall) uninstall=1 ;;
            --insecure) insecure=1 ;;
            --prefix=*) prefix=${word#*=} ;;
            --name=*) name=${word#*=} ;;
            --workspace=*) workspace=${word#*=} ;;
            --ca-cert=*) ca_cert=${word#*=} ;;
            --state-dir=*) state=${word#*=} ;;
        esac
        previous=$word
    done
    case $previous in
        --prefix | --name | --workspace | --ca-cert | --state-dir) fail "$previous needs a value" ;;
    esac
    if [ "$(id -u)" = 0 ]; then
        prefix=${prefix:-/usr/local} default_state=/var/lib/sandbridge units=/etc/systemd/system user=''
    else
        [ -n "${HOME:-}" ] || fail "HOME is not set; set it to your home directory"
        prefix=${prefix:-$HOME/.local} default_state=${XDG_STATE_HOME:-$HOME/.local/state}/sandbridge
        units=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user user=--user
    fi
    state=${state:-${SANDBRIDGE_STATE_DIR:-$default_state}}
    case $prefix in /*) ;; *) prefix=$(pwd -P)/$prefix ;; esac
    case $state in /*) ;; *) state=$(pwd -P)/$state ;; esac
    bin=$prefix/bin/sandbridge-runner
    # As the runner would use them.
    workspace=${workspace:-${SANDBRIDGE_WORKSPACE:-}} ca_cert=${ca_cert:-${SANDBRIDGE_CA_CERT:-}}
    [ -n "$ca_cert" ] || default_ca_cert=${CURL_CA_BUNDLE:-${SSL_CERT_FILE:-}}
    ca_cert=${ca_cert:-$default_ca_cert}
}

check_machine() {
    [ "$(uname -s)" = Linux ] || fail "this machine runs $(uname -s), and runners exist for Linux only"
    machine=$(uname -m)
    case $machine in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; esac
    [ "$machine" = "$arch" ] || fail "this machine is $machine, and the server hands out the runner for $arch only." \
        "Build it on this machine: scripts/build in Sandbridge's sources makes dist/sandbridge-runner"
    has curl || has wget || fail "neither curl nor wget is here; install one of them"
    has sha256sum || has openssl || fail "neither sha256sum nor openssl is here to check the download; install one of them"
}

check_request() {
    case $token in
        sbe_* | sbr_*) ;;
        '') fail "SANDBRIDGE_TOKEN is missing: \"sandbridge runner add NAME\", or the page's settings, show the line to paste" ;;
        *) fail "SANDBRIDGE_TOKEN is not a runner's token (sbe_… or sbr_…): paste the whole line that was shown" ;;
    esac
    case $token in *[!A-Za-z0-9_-]*) fail "SANDBRIDGE_TOKEN is incomplete: paste the line as it was shown" ;; esac
    case $workspace$prefix$state$(pwd -P) in
        *"$newline"*) fail "a directory's name contains a line break; use another directory" ;;
    esac
    if [ -n "$workspace" ]; then
        [ -d "$workspace" ] || fail "--workspace $workspace: there is no such directory"
    elif [ "$(pwd -P)" = / ] || [ "$(pwd -P)" = "$(cd "${HOME:-/}" 2>/dev/null && pwd -P)" ]; then
        fail "the workspace would be $(pwd -P), with everything in it open to commands." \
            "Change to a project's directory and paste the line there, or add --workspace DIR to it"
    fi
    [ -z "$ca_cert" ] || [ -r "$ca_cert" ] || fail "--ca-cert $ca_cert cannot be read${default_ca_cert:+ (from CURL_CA_BUNDLE or SSL_CERT_FILE)}"
    if [ -n "$insecure" ]; then
        say "note: $server is not encrypted: anyone in between can read the token and change what is sent. Use this only in your own networks"
    fi
}

# Creates the directories, remembering which were missing; then tries the tools for the download.
prepare() {
    made=''
    for directory in "$prefix/bin" "$state" ${service:+"$units"}; do
        missing=''
        while [ ! -d "$directory" ]; do
            missing="$directory
$missing"
            directory=$(dirname "$directory")
        done
        made="$made$missing"
    done
    trap undo EXIT
    trap 'exit 1' HUP INT TERM
    mkdir -p "$prefix/bin" || fail "$prefix/bin cannot be made, so nothing was installed; another place: --prefix DIR"
    (umask 077 && mkdir -p "$state") || fail "$state cannot be made, so nothing was installed; another place: --state-dir DIR"
    new=$(mktemp "$prefix/bin/.sandbridge-runner.XXXXXX") ||
        fail "$prefix/bin cannot be written to, so nothing was installed; another place: --prefix DIR"
    printf '#!/bin/sh\n' >"$new" && chmod 755 "$new" && "$new" 2>/dev/null ||
        fail "programs in $prefix/bin cannot be run (is it mounted noexec?), so nothing was installed; another place: --prefix DIR"
    free_kib=$(df -Pk "$prefix/bin" | awk 'NR == 2 { print $4 }')
    [ "${free_kib:-0}" -ge "$size_kib" ] ||
        fail "$prefix/bin has $free_kib KiB left and the runner needs $size_kib, so nothing was installed; another place: --prefix DIR"
}

# Undoes an incomplete installation.
undo() {
    rm -f "${new:-}"
    remove_directories "$made"
}

# Removes directories that are empty, the innermost first.
remove_directories() {
    printf '%s\n' "$1" | sort -r | while read -r directory; do
        case $directory in /*) rmdir "$directory" 2>/dev/null || true ;; esac
    done
}

# fetch URL FILE: prints the status, that of a proxy and where a redirect leads; before that what went wrong. To be run in a subshell.
fetch() {
    # As the runner reads them: in capitals too, and not for the machine itself.
    case $server in
        *://localhost | *://localhost[:/]* | *://127.* | *"://[::1]"*) unset http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY ;;
        *)
            export http_proxy="${http_proxy:-${HTTP_PROXY:-${ALL_PROXY:-}}}" no_proxy="${no_proxy:-${NO_PROXY:-}}" \
                https_proxy="${https_proxy:-${HTTPS_PROXY:-${ALL_PROXY:-}}}" ;;
    esac
    export LC_ALL=C
    if has curl; then
        curl -sS --connect-timeout 20 --speed-limit 1 --speed-time 60 ${ca_cert:+--cacert "$ca_cert"} \
            -w '%{http_code} %{http_connect} %{redirect_url}' -o "$2" "$1"
        return
    fi
    case $(wget --version 2>/dev/null) in
        *GNU*) wget -nv -T 60 -t 1 ${ca_cert:+--ca-certificate="$ca_cert"} -O "$2" "$1" ;;
        # Some versions stop at -T.
        *) wget -q -O "$2" "$1" ;;
    esac || { code=$?; [ "$code" != 5 ] || code=60; return "$code"; }
    printf '%s200 ' "$newline"
}

download() {
    url=$server/download/sandbridge-runner-linux-$arch
    say "downloading $url ($size_kib KiB)"
    case $server:$(has curl || wget --version 2>/dev/null || echo busybox) in
        https:*:busybox) say "note: this machine's wget does not check certificates, so the download is only as safe as the network; the runner does check the server's certificate" ;;
    esac
    answer=$(fetch "$url" "$new" 2>&1) && code=0 || code=$?
    case $answer in "wget: note: "*) answer=${answer#*"$newline"} ;; esac
    why=${answer%%"$newline"*} answer=${answer##*"$newline"}
    case $code:$answer:$why in
        0:200\ *) ;;
        *:407\ * | *\ 407\ * | *"Proxy Authentication"*)
            fail "the proxy needs a user and a password: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT (HTTP_PROXY for http://). Nothing was installed" ;;
        0:3*) fail "the download is redirected to ${answer##* }, by a captive portal or a proxy and not by the server. Nothing was installed" ;;
        0:*) fail "the server answered ${answer%% *} instead of the runner: $(head -c 300 "$new"). Nothing was installed" ;;
        60:* | 77:*)
            fail "the certificate of $server is not trusted by this machine${ca_cert:+ (nor by $ca_cert)}: if your network has a certificate authority of its own," \
                "pass it with --ca-cert FILE; if not, something on the way may be impersonating the server. Nothing was installed" ;;
        *) fail "the download failed (${why:-code $code}); nothing was installed" ;;
    esac
    if has sha256sum; then found=$(sha256sum "$new"); else found=$(openssl dgst -sha256 -r "$new"); fi
    if [ "${found%% *}" != "$sha256" ]; then
        case $(head -c 512 "$new" | tr -d '\000' | tr 'A-Z' 'a-z') in
            *"<!doctype"* | *"<html"*)
                fail "a web page arrived instead of the runner: a captive portal or a proxy answered for the server. Nothing was installed" ;;
        esac
        fail "the download is not the runner that the server announced: it was cut off or changed on the way. Nothing was installed;" \
            "paste the line once more"
    fi
    found=$("$new" --version 2>&1) || fail "the runner does not run on this machine: $found. Nothing was installed"
    [ "$found" = "sandbridge-runner $version" ] ||
        fail "the server is version $version and hands out \"$found\": tell its administrator. Nothing was installed"
}

install_runner() {
    check_machine
    check_request
    prepare
    download
    # A separate file for each token, under the runner's own name for it: pasting the same line again on this machine finds
    # the token that it was exchanged for.
    if has sha256sum; then hash=$(printf %s "$token" | sha256sum); else hash=$(printf %s "$token" | openssl dgst -sha256 -r); fi
    token_file=$state/token-$(printf %s "$hash" | cut -c1-16)
    (
        umask 077
        printf '%stoken %s\nworkspace %s\n' "$made" "$token_file" "$(cd "${workspace:-.}" && pwd -P)" >>"$state/made-by-install"
        [ -e "$token_file" ] || { printf '%s\n' "$token" >"$token_file.$$" && mv "$token_file.$$" "$token_file"; }
    ) || fail "$state cannot be written to, so nothing was installed"
    mv -f "$new" "$bin"
    trap - EXIT HUP INT TERM
    token=''
    say "installed $bin ($version); to remove it: run the same line with --uninstall"
}

# run OPTIONS…: becomes the runner.
run() {
    [ -z "$default_ca_cert" ] || set -- --ca-cert "$ca_cert" "$@"
    [ -z "$service" ] || keep_running "$@"
    say "it runs until Ctrl-C, for commands in ${workspace:-$(pwd -P)}; to keep it running: the same line with --service"
    exec "$bin" --server "$server" --state-dir "$state" --token-file "$token_file" --exit-if-refused "$@" </dev/null
}

# keep_running OPTIONS…: as a service, or says how without one.
keep_running() {
    # shellcheck disable=SC2086 # no word at all for root
    if [ -d /run/systemd/system ] && systemctl $user show-environment >/dev/null 2>&1; then
        unit=$units/sandbridge-runner.service
        [ ! -e "$unit" ] || say "there is a service already ($(sed -n 's/^Description=//p' "$unit")); this one takes its place"
        [ -z "${https_proxy:-}${HTTPS_PROXY:-}${http_proxy:-}${HTTP_PROXY:-}${all_proxy:-}${ALL_PROXY:-}" ] ||
            say "note: systemd starts the service without this shell's proxy; if it needs one, run \"systemctl $user edit sandbridge-runner\"" \
                "and write [Service] and Environment=HTTPS_PROXY=… there"
        exec "$bin" install-service --server "$server" --state-dir "$state" --token-file "$token_file" "$@" </dev/null
    fi
    case $(cat /proc/version 2>/dev/null) in
        *[Mm]icrosoft*)
            say "this is WSL, which runs systemd if /etc/wsl.conf says so: put the lines [boot] and systemd=true there, run" \
                "\"wsl --shutdown\" in Windows, and paste the line again here" ;;
    esac
    say "it is installed, but there is no systemd ${user:+for this user }here to keep it running. Start it by other means, such as cron:"
    say "    @reboot cd '${workspace:-$(pwd -P)}' && '$bin' --server '$server' --state-dir '$state' --token-file '$token_file' $*"
    exit 1
}

# The runners that were started from $bin, without their own child processes.
running() {
    all=' '
    for process in /proc/[0-9]*; do
        [ "$(tr '\000' '\n' 2>/dev/null <"$process/cmdline" | head -n 1)" = "$bin" ] || continue
        # Root sees those in containers too.
        [ -n "$user" ] || [ "$process/root" -ef / ] || continue
        all="$all${process#/proc/} "
    done
    for pid in $all; do
        parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null) || continue
        case $all in *" $parent "*) ;; *) printf '%s\n' "$pid" ;; esac
    done
}

# Removes a token's file, and an unfinished one.
forget_token() {
    rm -f "$1" "$1".* "${1%/*}/.${1##*/}".*
}

# Removes the private homes of commands in this workspace, and what the runner put into repositories there to hold their
# configuration: a commondir that says ".", and empty parts beside it. Git behaves the same with and without them.
forget_workspace() {
    if has sha256sum; then hash=$(printf %s "$1" | sha256sum); else hash=$(printf %s "$1" | openssl dgst -sha256 -r); fi
    hash=$(printf %s "$hash" | cut -c1-32)
    for home in "$state/homes/$hash" "$state/homes/$hash"-*; do
        [ -d "$home" ] || continue
        # Caches of tools may be write-protected.
        chmod -R u+rwX "$home" 2>/dev/null || true
        rm -rf "$home"
    done
    # shellcheck disable=SC2016 # for the inner shell
    find "$1" -xdev -type f -name commondir -exec sh -c 'for file; do
        [ "$(head -c 3 "$file")" = . ] || continue
        repository=${file%/commondir}
        rm -f "$file"
        for part in config config.worktree; do [ -s "$repository/$part" ] || rm -f "$repository/$part"; done
        rmdir "$repository/hooks" "$repository/worktrees" "$repository/modules" 2>/dev/null
    done' sh {} + 2>/dev/null || true
}

uninstall_runner() {
    [ -e "$bin" ] || [ -e "$state/made-by-install" ] || fail "no runner is installed at $bin; nothing was changed"
    if [ -e "$units/sandbridge-runner.service" ]; then
        "$bin" uninstall-service --state-dir "$state" </dev/null || fail "the service could not be removed; nothing else was changed"
    fi
    # shellcheck disable=SC2046 # numbers
    kill $(running) 2>/dev/null || true
    waited=0
    while [ -n "$(running)" ]; do
        [ "$waited" -lt 15 ] || fail "the runner did not end (process $(running)); nothing was removed"
        sleep 1
        waited=$((waited + 1))
    done
    made=$(cat "$state/made-by-install" 2>/dev/null) || true
    rm -f "$state/made-by-install" "$bin" "$bin.old" "$prefix"/bin/.sandbridge-runner.*
    printf '%s\n' "$made" | while read -r line; do
        case $line in
            'token '*) forget_token "${line#token }" ;;
            'workspace '*) forget_workspace "${line#workspace }" ;;
        esac
    done
    # Each runner has a socket that is named after its process id; those of ended runners are removed.
    for socket in "$state"/control/*; do
        [ -e "/proc/${socket##*/}" ] || rm -f "$socket"
    done
    rmdir "$state/homes" "$state/control" 2>/dev/null || true
    remove_directories "$made"
    left=$(ls -A "$state" 2>/dev/null) || true
    # shellcheck disable=SC2086 # names in one line
    [ -z "$left" ] || say "kept in $state, because no runner of this installation made it:" $left
    say "removed $bin and what it made"
}

main() {
    read_options "$@"
    # The remaining arguments are the runner's options.
    is_value=''
    for word in "$@"; do
        shift
        case $is_value$word in
            --service | --uninstall | --prefix=* | --state-dir=*) ;;
            --prefix | --state-dir) is_value='value of ' ;;
            'value of '*) is_value='' ;;
            *) set -- "$@" "$word" ;;
        esac
    done
    if [ -n "$uninstall" ]; then
        uninstall_runner
    else
        install_runner
        run "$@"
    fi
}

main "$@"
exit
}
