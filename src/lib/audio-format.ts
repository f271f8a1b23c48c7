/** What sound a file holds, by its first bytes: senders and platforms name types wrongly or not at all. */
export interface AudioFormat {
  /** By which transcription servers tell formats apart. Without a dot. */
  readonly extension: string;
  readonly mime: string;
  /** Name of ffmpeg's demuxer. */
  readonly demuxer: string;
  /** Taken by the OpenAI transcription wire (and Groq's): flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm. */
  readonly remote: boolean;
}

const OGG: AudioFormat = { extension: 'ogg', mime: 'audio/ogg', demuxer: 'ogg', remote: true };
const WAV: AudioFormat = { extension: 'wav', mime: 'audio/wav', demuxer: 'wav', remote: true };
const FLAC: AudioFormat = { extension: 'flac', mime: 'audio/flac', demuxer: 'flac', remote: true };
const MP3: AudioFormat = { extension: 'mp3', mime: 'audio/mpeg', demuxer: 'mp3', remote: true };
const M4A: AudioFormat = { extension: 'm4a', mime: 'audio/mp4', demuxer: 'mov', remote: true };
const WEBM: AudioFormat = { extension: 'webm', mime: 'audio/webm', demuxer: 'matroska', remote: true };
const AAC: AudioFormat = { extension: 'aac', mime: 'audio/aac', demuxer: 'aac', remote: false };
const AMR: AudioFormat = { extension: 'amr', mime: 'audio/amr', demuxer: 'amr', remote: false };

/** Undefined = no sound that anything here can read. Never looks at a name or a stated type. */
export function audioFormatOf(head: Uint8Array): AudioFormat | undefined {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 16)).toString('latin1');
  if (text.startsWith('OggS')) return OGG;
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WAVE') return WAV;
  if (text.startsWith('fLaC')) return FLAC;
  if (text.startsWith('ID3')) return MP3;
  if (text.slice(4, 8) === 'ftyp') return M4A;
  // EBML, RFC 8794: the head of Matroska and WebM.
  if (text.startsWith('\x1a\x45\xdf\xa3')) return WEBM;
  if (text.startsWith('#!AMR')) return AMR;
  const [first = 0, second = 0] = head;
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  // ISO 11172-3 and 14496-3: after the sync bits, layer 0 is ADTS (AAC), the others are MPEG audio.
  return (second & 0x06) === 0 ? AAC : MP3;
}
