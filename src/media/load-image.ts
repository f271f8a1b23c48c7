import type { Image } from '../core/model.ts';
import { openParent, PathRefusal } from '../workspace/path.ts';
import { imageFault } from './image-size.ts';
import { IMAGE_HEAD_BYTES, imageTypeOf, MAX_IMAGE_BYTES, toImage } from './pictures.ts';

/**
 * A file of the workspace as a picture for the model; undefined when it is none, too large, damaged, gone,
 * or one that would fill the memory of whoever decodes it (F39). Follows no symbolic link
 * (A21). Rejects with `signal.reason` or the system's error.
 */
export async function loadImage(workspace: string, path: string, signal: AbortSignal): Promise<Image | undefined> {
  try {
    const { parent, name } = await openParent(workspace, path);
    await using _ = parent;
    await using file = await parent.openFile(name);
    const { size } = await file.stat();
    if (size > MAX_IMAGE_BYTES) return undefined;
    const head = Buffer.alloc(IMAGE_HEAD_BYTES);
    await file.read(head, 0, head.length, 0);
    if (imageTypeOf(head) === undefined) return undefined;
    signal.throwIfAborted();
    // As long as it was when it was opened: a file that grows meanwhile must not fill the memory.
    const bytes = Buffer.alloc(size);
    let at = 0;
    for (;;) {
      const { bytesRead } = await file.read(bytes, at, size - at, at);
      at += bytesRead;
      if (bytesRead === 0 || at === size) break;
      signal.throwIfAborted();
    }
    // Looked at again: since it was fetched, a tool may have put another file in its place.
    return imageFault(bytes.subarray(0, at)) ? undefined : toImage(bytes.subarray(0, at));
  } catch (error) {
    if (error instanceof PathRefusal) return undefined;
    throw error;
  }
}
