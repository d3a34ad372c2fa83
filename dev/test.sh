#!/bin/sh
# `npm test`: the types, and at the same time the tests that a change is checked by. What is wrong with the types is
# shown at the end.
node prisma/generate.mjs || exit
errors=$(mktemp)
node_modules/.bin/tsc -p tsconfig.json >"$errors" 2>&1 &
types=$!
trap 'kill $types 2>/dev/null; rm -f "$errors"' EXIT
node --experimental-vm-modules --no-warnings node_modules/jest/bin/jest.js --config jest.quick.config.js "$@"
tests=$?
wait $types && exit $tests
cat "$errors" >&2
exit 1
