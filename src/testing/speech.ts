/** Speech like a person's: spoken by flite, encoded as voice notes are (ogg/opus, 24 kbit/s, 48 kHz mono). */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestContext } from 'vitest';
import { needs } from './needs.ts';

const run = promisify(execFile);

/** The recognizer's command for `CommandTranscriberOptions`; its log would fill standard error. */
export const RECOGNIZER = ['pocketsphinx_continuous', '-infile', '{wav}', '-logfn', '/dev/null'];

/** Debian: flite, ffmpeg, pocketsphinx, pocketsphinx-en-us. */
export function needsSpeech(context: Pick<TestContext, 'skip'>): void {
  needs(context, 'ffmpeg', '-version');
  // Neither has an option that does nothing and succeeds.
  for (const program of ['flite', 'pocketsphinx_continuous']) needs(context, 'sh', '-c', `command -v ${program}`);
}

/** Path of a voice note that says the text. */
export async function voiceNote(dir: string, text: string): Promise<string> {
  const wav = join(dir, 'spoken.wav');
  const ogg = join(dir, 'spoken.ogg');
  await run('flite', ['-voice', 'slt', '-t', text, '-o', wav]);
  await run('ffmpeg', [
    '-nostdin',
    '-v',
    'error',
    '-y',
    '-i',
    wav,
    '-ac',
    '1',
    '-ar',
    '48000',
    '-c:a',
    'libopus',
    '-b:a',
    '24k',
    ogg,
  ]);
  return ogg;
}
