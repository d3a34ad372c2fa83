#!/bin/sh
# `npm test`: the types, and at the same time the tests that a change is checked by. `npm run test:rest`: the same with
# lint and all other tests. What is wrong with the types, or what lint finds, is shown at the end.
config=jest.quick.config.js
check() { exec node node_modules/typescript-native/bin/tsc -p tsconfig.json; }
if [ "$1" = rest ]; then
  shift
  config=jest.rest.config.js
  check() { exec npm run --silent lint; }
fi
node prisma/generate.mjs || exit
errors=$(mktemp)
check >"$errors" 2>&1 &
checked=$!
trap 'kill $checked 2>/dev/null; rm -f "$errors"' EXIT
node --experimental-vm-modules --no-warnings node_modules/jest/bin/jest.js --config "$config" "$@"
tests=$?
wait $checked && exit $tests
cat "$errors" >&2
exit 1
