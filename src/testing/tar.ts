/** Archives of any kind, also those that no tar would make. Never shipped. */
import { gzipSync } from 'node:zlib';

export interface TarEntry {
  readonly path: string;
  /** Default: a file. */
  readonly type?: string;
  readonly body?: string | Buffer;
  readonly mode?: number;
  readonly link?: string;
  /** What the header says, where that is not how long the body is. */
  readonly size?: number;
}

/** As POSIX ustar, packed. */
export function tarGz(entries: readonly TarEntry[]): Buffer {
  return gzipSync(Buffer.concat([...entries.map(packed), Buffer.alloc(1_024)]));
}

function packed({ path, type = '0', body = '', mode = 0o644, link = '', size }: TarEntry): Buffer {
  const content = Buffer.from(body);
  const header = Buffer.alloc(512);
  const octal = (value: number, at: number, length: number) =>
    header.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  header.write(path, 0, 100);
  octal(mode, 100, 8);
  octal(size ?? content.length, 124, 12);
  header.write('        ', 148, 'latin1');
  header.write(type, 156, 'latin1');
  header.write(link, 157, 100);
  header.write('ustar\x0000', 257, 'latin1');
  octal(
    header.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  );
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}
