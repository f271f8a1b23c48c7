import type { Writable } from 'node:stream';

/** Resolves once the stream takes more, or is closed. Leaves no listener on it: it may last for weeks. */
export function drained(stream: Pick<Writable, 'on' | 'off'>): Promise<void> {
  return new Promise((resolve) => {
    const goOn = (): void => {
      stream.off('drain', goOn);
      stream.off('close', goOn);
      resolve();
    };
    stream.on('drain', goOn);
    stream.on('close', goOn);
  });
}
