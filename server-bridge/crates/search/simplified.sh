#!/bin/sh
# Writes src/tokens/simplified.txt: each traditional Chinese character that has one simplified character, both side by side, one pair a line.
# The mapping is that of CLDR's transform Traditional-Simplified (licence Unicode-3.0, NOTICE.md), applied by `uconv` of ICU: package icu-devtools of Debian.
set -eu
cd "$(dirname "$0")"
python3 -c '
for first, last in ((0x3400, 0x9FFF), (0x20000, 0x2EBE0)):
    for code in range(first, last + 1):
        print(chr(code))
' > /tmp/traditional.$$
uconv -f utf-8 -t utf-8 -x Traditional-Simplified < /tmp/traditional.$$ > /tmp/simplified.$$
python3 -c '
import sys
traditional, simplified = (open(name, encoding="utf-8").read().split("\n") for name in sys.argv[1:])
assert len(traditional) == len(simplified)
pairs = {old: new for old, new in zip(traditional, simplified) if old != new and len(new) == 1}
for old, new in pairs.items():
    # Of two characters that are mapped to each other, each stays.
    if new not in pairs:
        print(old + new)
' /tmp/traditional.$$ /tmp/simplified.$$ > src/tokens/simplified.txt
rm /tmp/traditional.$$ /tmp/simplified.$$
