#!/usr/bin/env bash
# Deletes the daily indices of spans that are older than KEEP_DAYS, now and then every hour.
# With `--once`: now only. Needs curl and GNU date.
set -euo pipefail

url=${OPENSEARCH_URL:-http://127.0.0.1:9200}
prefix=${OPENSEARCH_PREFIX:-llmphases}
days=${KEEP_DAYS:-14}

[[ $days =~ ^[0-9]+$ ]] || { echo "KEEP_DAYS is a number of days, and not '$days'" >&2; exit 2; }

forget() {
    local oldest index
    oldest=$(date -u -d "-$days days" +%F)
    # `-jaeger-span-2026-12-01`: dates in this form sort like text.
    curl -fsS "$url/_cat/indices/$prefix-jaeger-*?h=index" | while read -r index; do
        if [[ $index =~ -jaeger-(span|service)-([0-9]{4}-[0-9]{2}-[0-9]{2})$ && ${BASH_REMATCH[2]} < $oldest ]]; then
            curl -fsS -o /dev/null -X DELETE "$url/$index"
            echo "deleted $index"
        fi
    done
}

if [[ ${1:-} == --once ]]; then
    forget
    exit
fi
while true; do
    forget || echo "could not look for old indices; again in an hour" >&2
    sleep 1h &
    wait $! # so that a signal ends it at once
done
