import { errorText } from '../core/errors.ts';
import type { Image } from '../core/model.ts';
import type { SessionMessage } from '../core/session.ts';
import { loadImage } from '../media/load-image.ts';
import { ImageQuota, MAX_IMAGES, MAX_TOTAL_BYTES } from '../media/pictures.ts';
import type { AgentEmit } from './agent-emit.ts';

/**
 * The pictures among the files of a message, in order and within the quota of one message. One that cannot be
 * read is reported and left out: its name is in the text. Never rejects; after an abort it returns early, and
 * the caller looks at the signal.
 */
export async function readImages(
  paths: readonly string[],
  load: (path: string, signal: AbortSignal) => Promise<Image | undefined>,
  emit: AgentEmit,
  signal: AbortSignal,
): Promise<readonly Image[]> {
  const images: Image[] = [];
  const quota = new ImageQuota();
  for (const path of paths) {
    if (signal.aborted || images.length === MAX_IMAGES) break;
    try {
      const image = await load(path, signal);
      if (image && quota.refuse(Buffer.byteLength(image.base64, 'base64')) === undefined) images.push(image);
    } catch (error) {
      if (!signal.aborted) emit({ type: 'failed', code: 'GH1505', detail: `a picture cannot be read: ${errorText(error)}` });
    }
  }
  return images;
}

/**
 * Messages of one turn whose pictures are shown, the input and tool results: each costs its price on every
 * later call.
 */
const MESSAGES_WITH_IMAGES = 4;

export interface LoadOptions {
  readonly workspace: string;
  readonly emit: AgentEmit;
  readonly signal: AbortSignal;
}

/** Stands below a result with a picture that the model does not see. */
export const NOT_SHOWN = '[its picture is not shown: it is too large or damaged, or others took its place]';

/** The lines as the model reads them: a result says where its picture is not shown. */
export function withImageNotes(
  lines: readonly SessionMessage[],
  images: ReadonlyMap<string, readonly Image[]>,
): readonly SessionMessage[] {
  const isUnseen = ({ role, id }: SessionMessage): boolean => role === 'tool' && images.get(id)?.length === 0;
  return lines.map((line) => (isUnseen(line) ? { ...line, content: `${line.content}\n${NOT_SHOWN}` } : line));
}

/**
 * Adds the pictures of lines that are not in `images` yet, by the id of their line; none = they are not
 * shown. The newest are: results give way, the oldest first, and the input stays. Never rejects.
 */
export async function loadImages(
  images: Map<string, readonly Image[]>,
  lines: readonly SessionMessage[],
  { workspace, emit, signal }: LoadOptions,
): Promise<void> {
  const load = (path: string, signal: AbortSignal) => loadImage(workspace, path, signal);
  for (const line of lines) {
    if (!line.media?.length || images.has(line.id)) continue;
    images.set(line.id, await readImages(line.media, load, emit, signal));
    const next = () => givingWay(images, lines[0]?.id);
    for (let id = next(); id !== undefined; id = next()) images.set(id, []);
  }
}

/** The line whose pictures give way: the oldest but `input`. Undefined where all may be sent at once. */
function givingWay(images: ReadonlyMap<string, readonly Image[]>, input: string | undefined): string | undefined {
  const shown = [...images].filter(([, pictures]) => pictures.length > 0);
  const sizes = shown.flatMap(([, pictures]) => pictures.map(({ base64 }) => Buffer.byteLength(base64, 'base64')));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (shown.length <= MESSAGES_WITH_IMAGES && bytes <= MAX_TOTAL_BYTES) return undefined;
  return shown.find(([id]) => id !== input)?.[0];
}
