import type { MediaKind, MediaRef } from '../../src/core/message.ts';

/** What a platform says of a file, where it says it. */
export interface StatedFile {
  readonly kind: MediaKind;
  readonly ref: string;
  readonly name?: string | undefined;
  readonly mime?: string | undefined;
  /** Bytes. */
  readonly size?: number | undefined;
}

/**
 * A file of a message; what is unknown is left out. A name is cut to what a file system holds, and cleaned
 * later.
 */
export function mediaRef({ kind, ref, name, mime, size }: StatedFile): MediaRef {
  return {
    kind,
    ref,
    ...(name !== undefined && { name: name.slice(0, 255) }),
    ...(mime !== undefined && { mime }),
    ...(size !== undefined && size >= 0 && { size }),
  };
}
