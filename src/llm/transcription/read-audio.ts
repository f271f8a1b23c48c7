import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { GatehouseError } from '../../core/errors.ts';
import type { AudioFile } from '../../core/media-models.ts';
import { type AudioFormat, audioFormatOf } from '../../lib/audio-format.ts';

/** OpenAI's and Groq's limit for one upload; about two hours of a voice note. */
export const MAX_AUDIO_BYTES = 25 * 1024 * 1024;

export interface Audio {
  readonly bytes: Buffer;
  readonly format: AudioFormat;
}

/** The whole file. Follows no link at its last name. Rejects with GH2114 for what cannot be sound. */
export async function readAudio({ path, bytes: stated }: AudioFile, signal: AbortSignal): Promise<Audio> {
  if (stated > MAX_AUDIO_BYTES) throw tooLarge(stated);
  await using file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  const { size } = await file.stat();
  if (size > MAX_AUDIO_BYTES) throw tooLarge(size);
  const buffer = Buffer.alloc(size);
  let total = 0;
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead } = await file.read(buffer, total);
    if (bytesRead === 0 || total === size) break;
    total += bytesRead;
  }
  const bytes = buffer.subarray(0, total);
  const format = audioFormatOf(bytes);
  if (format) return { bytes, format };
  throw new GatehouseError('GH2114', 'the file is no sound of a known format', {
    hint: 'send it as a voice note, or as ogg, mp3, m4a, wav, webm or flac',
  });
}

function tooLarge(bytes: number): GatehouseError {
  return new GatehouseError('GH2114', `the recording has ${bytes} bytes; at most ${MAX_AUDIO_BYTES} are transcribed`, {
    hint: 'send a shorter recording',
  });
}
