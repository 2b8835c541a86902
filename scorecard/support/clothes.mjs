// One IPv4 address inside of every IPv6 address that can carry it, and each in several spellings.

/** @param four Its four numbers. */
export function clothesOf([a, b, c, d]) {
  const [ab, cd] = [hex2(a, b), hex2(c, d)];
  const [nab, ncd] = [hex2(255 - a, 255 - b), hex2(255 - c, 255 - d)];
  const [xa, bc, dx] = [a.toString(16), hex2(b, c), hex2(d, 0)];
  const plain = [
    `::ffff:${ab}:${cd}`,
    `0:0:0:0:0:ffff:${ab}:${cd}`,
    `::ffff:${a}.${b}.${c}.${d}`,
    `::${ab}:${cd}`,
    `::${a}.${b}.${c}.${d}`,
    `::ffff:0:${ab}:${cd}`,
    `64:ff9b::${ab}:${cd}`,
    `64:ff9b::${a}.${b}.${c}.${d}`,
    `64:ff9b:1:${ab}:${hex2(0, c)}:${dx}::`,
    `64:ff9b:1:${hex2(0xab, a)}:${hex2(0, b)}:${cd}::`,
    `64:ff9b:1:abcd:${hex2(0, a)}:${bc}:${dx}:0`,
    `64:ff9b:1:${xa}:1:2:${ab}:${cd}`,
    `2002:${ab}:${cd}::1`,
    `2002:${ab}:${cd}:1:2:3:4:5`,
    `2001:0:${ab}:${cd}::1`,
    `2001:0:4136:e378:8000:63bf:${nab}:${ncd}`,
    `2a00:1450:4001:800:0:5efe:${ab}:${cd}`,
    `2a00:1450:4001:800:200:5efe:${ab}:${cd}`,
  ];
  return [...new Set([...plain, ...plain.map((text) => text.toUpperCase())])];
}

function hex2(high, low) {
  return ((high << 8) | low).toString(16);
}
