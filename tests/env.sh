# Sourced by tests/run and notebooks/run: the environment both work in. Everything it makes is inside the repository,
# in .venv/ and .tools/, which git ignores.

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
VENV="$ROOT/.venv"
PY="$VENV/bin/python"

say() { printf '\n== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3 python; do
    if [ -n "$candidate" ] && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  die "Python 3.11 or newer is needed and was not found on PATH; install it, or name it: PYTHON=/path/to/python3 bash $0"
}

# What an environment was made from: it is made again when any of it changes.
environment_stamp() {
  printf '%s\n%s\n' "$VENV" "$1"
  if [ -n "${DVERGR_NB_NEWEST:-}" ]; then echo newest; else cat "$ROOT/tests/locked.txt"; fi
  "$PY" -c 'import platform, sys; print(platform.python_version(), sys.base_prefix)' 2>/dev/null
  "$PY" - "$ROOT/pyproject.toml" <<'PY' 2>/dev/null
import sys, tomllib
project = tomllib.load(open(sys.argv[1], "rb"))["project"]
print(project["name"], project["version"], project["dependencies"], project["optional-dependencies"])
PY
}

# Whether .venv is what environment_stamp would say now. One that has the test extra too serves those who need less.
environment_is_valid() {
  local extras
  [ -x "$PY" ] || return 1
  for extras in "$1" lab,test; do
    if [ -f "$VENV/dvergr-$extras.stamp" ] && [ "$(environment_stamp "$extras")" = "$(cat "$VENV/dvergr-$extras.stamp")" ]; then
      return 0
    fi
  done
  return 1
}

# make_environment EXTRAS: .venv with the package (editable) and the extras, unless a valid one is there. The versions are
# those of tests/locked.txt, so that nobody's new release changes what is tested; DVERGR_NB_NEWEST=1 takes the newest.
make_environment() {
  local extras="$1" versions=(--constraint "$ROOT/tests/locked.txt")
  [ -z "${DVERGR_NB_NEWEST:-}" ] || versions=(--upgrade --upgrade-strategy eager)
  ! environment_is_valid "$extras" || return 0
  if ! "$PY" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || ! "$PY" -m pip --version >/dev/null 2>&1; then
    local python
    python="$(find_python)" || exit 1
    say "making .venv with $python"
    "$python" -m venv --clear "$VENV" || die "$python cannot make an environment; on Debian: apt-get install python3-venv"
  fi
  say "installing dvergr_nb[$extras] into .venv"
  "$PY" -m pip install --quiet --no-compile --disable-pip-version-check "${versions[@]}" --editable "$ROOT[$extras]" || die "pip could not install dvergr_nb[$extras]"
  environment_stamp "$extras" > "$VENV/dvergr-$extras.stamp"
}

# Jupyter's own folders and a kernelspec for .venv, inside .tools/: nothing in the home of the user is read or written.
settle_jupyter() {
  local home="$ROOT/.tools/jupyter"
  export JUPYTER_CONFIG_DIR="$home/config" JUPYTER_DATA_DIR="$home/data" JUPYTER_RUNTIME_DIR="$home/runtime"
  export JUPYTER_PATH="$home/share/jupyter" IPYTHONDIR="$home/ipython" MPLCONFIGDIR="$home/matplotlib"
  export JUPYTERLAB_SETTINGS_DIR="$home/settings" JUPYTERLAB_WORKSPACES_DIR="$home/workspaces"
  mkdir -p "$JUPYTER_CONFIG_DIR" "$JUPYTER_DATA_DIR" "$JUPYTER_RUNTIME_DIR" "$IPYTHONDIR" "$MPLCONFIGDIR"
  "$PY" -m ipykernel install --prefix "$home" --name python3 --display-name "Python 3 (dvergr_nb)" >/dev/null \
    || die "the kernel of .venv could not be registered in $home"
}

# Node 20 or newer: the one on PATH, else the one that the test extra brings along as a Python package.
settle_node() {
  if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null || ! command -v npm >/dev/null; then
    export PATH="$VENV/bin:$PATH"
  fi
  node --version >/dev/null 2>&1 || { echo "error: there is no Node.js on PATH and none in .venv" >&2; return 1; }
}

settle_chromium() {
  local name
  [ -n "${CHROMIUM:-}" ] && return
  for name in chromium chromium-browser google-chrome google-chrome-stable; do
    if command -v "$name" >/dev/null; then
      export CHROMIUM="$(command -v "$name")"
      return
    fi
  done
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing Chromium"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium >/dev/null \
      && export CHROMIUM="$(command -v chromium)" && return
  fi
  echo "error: the browser tests need Chromium; install it (Debian: apt-get install chromium) or name it: CHROMIUM=/path bash tests/run" >&2
  return 1
}
