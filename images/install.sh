#!/bin/sh
# Only while images are built: `install.sh LAYER ...` installs into /srv/venv what pip's arguments say (or `--folder DIR`:
# one package as it lies there), compiles it, and links what is new, at its place, below /made/LAYER.
# Compiled files are never checked against their sources again: a stale one makes `import torch` take twice as long.
set -eu
packages=$(/srv/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
layer=/made/$1 && shift && mkdir --parents "$layer"
if [ -e /srv/build/before ]; then what_is_new="-newer /srv/build/before"; else what_is_new=; fi
if [ "$1" = --folder ]; then
    cp -R "$2" "$packages/"
else
    # shellcheck disable=SC2086  # flags are words
    pip_install() {
        /srv/build/bin/pip --python /srv/venv/bin/python install ${PIP_FLAGS:-} --find-links=/wheels --no-cache-dir --quiet \
            --no-compile --disable-pip-version-check --root-user-action=ignore --constraint /srv/build/requirements.lock "$@"
    }
    # only torch itself is looked for there: all that it needs is on pip's own index too
    [ -z "${TORCH_FROM:-}" ] || pip_install --no-deps --extra-index-url "$TORCH_FROM" torch
    pip_install "$@"
fi
# headers and tests of torch, and what belongs to other versions of Python than this one
rm -rf "$packages/torch/include" "$packages/torch/test" "$packages/torch/share/cmake"
# shellcheck disable=SC2086
find "$packages" -name '*.py' ! -name 'py312*' $what_is_new | /srv/venv/bin/python -m compileall -q -j 0 -i - \
    --invalidation-mode unchecked-hash
# shellcheck disable=SC2086
find /srv/venv \( -type f -o -type l \) $what_is_new -print0 | xargs -0 cp -a --link --parents --target-directory="$layer"
chmod -R a+rX "$layer"
sleep 1 && touch /srv/build/before && sleep 1
