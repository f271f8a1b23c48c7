import { crc32, deflateRawSync } from 'node:zlib';

/** A zip file of these parts, packed (PKWARE APPNOTE 4.3). */
export function zipOf(parts: Readonly<Record<string, string | Uint8Array>>): Buffer {
  const [bodies, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const [name, content] of Object.entries(parts)) {
    const data = Buffer.from(content);
    const packed = deflateRawSync(data);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(crc32(data), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(data.length, 18);
    facts.writeUInt16LE(name.length, 22);
    const body = Buffer.concat([Buffer.from('504b0304', 'hex'), facts, Buffer.from(name), packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    directory.push(Buffer.from('504b01021400', 'hex'), facts, place, Buffer.from(name));
    bodies.push(body);
    at += body.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('504b0506', 'hex');
  end.writeUInt16LE(bodies.length, 8);
  end.writeUInt16LE(bodies.length, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...bodies, listed, end]);
}
