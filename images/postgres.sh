#!/bin/sh
# The `postgres` service of compose: PostgreSQL's own programs from the service image, on a unix socket and nothing else.
# Whoever connects is known by uid (peer authentication): there is no password that could be reached, or a default one.
set -eu
programs=$(python -c 'from app.settings import from_environment; from app.db.embedded import candidates
print(next(iter(candidates(from_environment()))).folder)')
cluster=${GRADER_DATA_DIR:-/data}/postgres
if [ ! -s "$cluster/PG_VERSION" ]; then
    rm -rf "$cluster.new"
    "$programs/initdb" --pgdata="$cluster.new" --username=grader --auth=peer --encoding=UTF8 --locale=C --data-checksums
    echo 'CREATE DATABASE grader' | "$programs/postgres" --single -D "$cluster.new" postgres
    mv "$cluster.new" "$cluster"
fi
exec "$programs/postgres" -D "$cluster" -c listen_addresses= -c unix_socket_directories=/run/postgresql -c max_connections=200
