#!/usr/bin/env bash
# Makes the images' base from Debian packages, for machines that reach a Debian mirror but no registry of images:
#   images/make-base-image.sh [NAME]
# The default name is the Dockerfile's own BASE_IMAGE, so that nothing else has to be told. Needs debootstrap, and root.
# DEBIAN_MIRROR names another mirror than debootstrap's own.
set -euo pipefail
name=${1:-$(sed -n 's/^ARG BASE_IMAGE=//p' "$(dirname "$0")/../Dockerfile" | head -n 1)}

die() {
    echo "make-base-image: $*" >&2
    exit 2
}
[ "$(id -u)" -eq 0 ] || die "needs root, to unpack packages with their owners"
command -v debootstrap > /dev/null || die "needs debootstrap: install it (on Debian: apt-get install debootstrap)"
docker version > /dev/null 2>&1 || die "no Docker Engine answers"
if docker image inspect "$name" > /dev/null 2>&1; then
    echo "make-base-image: $name is there already"
    exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "make-base-image: Debian bookworm with its Python (about a minute)"
debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$folder" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} \
    > "$folder.log" 2>&1 || { tail -n 5 "$folder.log" >&2; die "debootstrap failed; all it said is in $folder.log"; }
rm -rf "$folder.log" "$folder"/var/cache/apt/* "$folder"/var/lib/apt/lists/* "$folder"/usr/share/{doc,man,locale}
tar --create --directory "$folder" . | docker import --change 'CMD ["python3"]' - "$name" > /dev/null
echo "make-base-image: made $name"
