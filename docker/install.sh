#!/bin/sh
# Only while images are built: installs into /opt/venv what pip's arguments say (or `--folder DIR`: one package as it
# lies there), compiles it, and puts what is new, at its place, below /made: that is the layer.
# Compiled files are never checked against their sources again: a stale one makes `import torch` take twice as long.
set -eu
packages=$(/opt/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
rm -rf /made && mkdir /made && touch /opt/build/before && sleep 1
if [ "$1" = --folder ]; then
    cp -R "$2" "$packages/"
else
    # shellcheck disable=SC2086  # flags are words
    /opt/build/bin/pip --python /opt/venv/bin/python install ${PIP_FLAGS:-} --find-links=/wheels --no-cache-dir --no-compile \
        --quiet --disable-pip-version-check --root-user-action=ignore --constraint /opt/build/requirements.lock "$@"
fi
rm -rf "$packages/torch/include" "$packages/torch/test" "$packages/torch/share/cmake"
/opt/venv/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash "$packages" > /opt/build/compiled 2>&1 \
    || { tail -n 20 /opt/build/compiled; }
find /opt/venv \( -type f -o -type l \) -cnewer /opt/build/before -print0 | tar --create --null --files-from - | tar --extract --directory /made
[ -e /made/opt/venv/pyvenv.cfg ] || [ -e /opt/build/first ] || { mkdir -p /made/opt/venv; touch /opt/build/first; cp -a /opt/venv/bin /opt/venv/pyvenv.cfg /opt/venv/lib64 /made/opt/venv/; }
chmod -R a+rX /made
