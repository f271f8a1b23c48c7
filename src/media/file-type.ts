/**
 * What a file is, by its bytes. Names and stated types come from strangers: they decide neither what is
 * handed to a model or a transcriber nor what a file on disk is called (A23).
 */

/** As many first bytes as `fileTypeOf` looks at. */
export const FILE_HEAD_BYTES = 4_096;

interface Signature {
  readonly type: string;
  /** With the dot. */
  readonly ending: string;
  /** Other endings, and other names of the type, under which the same bytes are sent. */
  readonly endings?: readonly string[];
  readonly types?: readonly string[];
  /** Latin-1 text of the head; `at` reads a big-endian 32-bit number. */
  readonly fits: (head: string) => boolean;
}

const starts =
  (...magic: readonly string[]) =>
  (head: string): boolean =>
    magic.some((text) => head.startsWith(text));

const riff = (form: string) => (head: string) => head.startsWith('RIFF') && head.startsWith(form, 8);

/** ISO/IEC 14496-12 section 4.3: a box `ftyp` with the major brand and the compatible ones. */
const brand = (brands: RegExp) => (head: string) => head.startsWith('ftyp', 4) && brands.test(head.slice(8, 12));

/** A layer III frame (ISO/IEC 11172-3 section 2.4.2.3) with a bit rate and a sampling rate that exist. */
function isMp3Frame(head: string): boolean {
  const [sync = 0, version = 0, rates = 0] = [head.charCodeAt(0), head.charCodeAt(1), head.charCodeAt(2)];
  return sync === 0xff && (version & 0xe6) === 0xe2 && rates >> 4 !== 0 && rates >> 4 !== 15 && ((rates >> 2) & 3) !== 3;
}

/** Programs of Windows: `MZ`, and at 0x3c the place of the second mark. Many a text begins with "MZ". */
function isWindowsProgram(head: string): boolean {
  if (!head.startsWith('MZ') || head.length < 0x40) return false;
  const at = Buffer.from(head.slice(0x3c, 0x40), 'latin1').readUInt32LE();
  return head.startsWith('PE\0\0', at) || head.startsWith('NE', at) || head.startsWith('LE', at);
}

/** BITMAPFILEHEADER. The size of the header after it tells a picture from a text that begins with "BM". */
function isBitmap(head: string): boolean {
  if (!head.startsWith('BM') || head.length < 18) return false;
  return [12, 40, 52, 56, 64, 108, 124].includes(Buffer.from(head.slice(14, 18), 'latin1').readUInt32LE());
}

const ZIPPED = ['.docx', '.xlsx', '.pptx', '.odt', '.ods', '.odp', '.epub', '.apk', '.jar'];

/** The first that fits counts. What is read from its end (ZIP) or anywhere in its head (PDF) comes last. */
const SIGNATURES: readonly Signature[] = [
  { type: 'image/jpeg', ending: '.jpg', endings: ['.jpeg'], types: ['image/jpg', 'image/pjpeg'], fits: starts('\xff\xd8\xff') },
  { type: 'image/png', ending: '.png', types: ['image/apng'], fits: starts('\x89PNG\r\n\x1a\n') },
  { type: 'image/gif', ending: '.gif', fits: starts('GIF87a', 'GIF89a') },
  { type: 'image/webp', ending: '.webp', fits: riff('WEBP') },
  { type: 'image/tiff', ending: '.tiff', endings: ['.tif'], fits: starts('II*\0', 'MM\0*', 'II+\0', 'MM\0+') },
  { type: 'image/bmp', ending: '.bmp', types: ['image/x-ms-bmp'], fits: isBitmap },
  { type: 'image/avif', ending: '.avif', fits: brand(/^avi[fs]/) },
  {
    type: 'image/heic',
    ending: '.heic',
    endings: ['.heif'],
    types: ['image/heif'],
    fits: brand(/^(?:hei[cxms]|hev[cx]|mif1|msf1)/),
  },
  {
    type: 'audio/ogg',
    ending: '.ogg',
    endings: ['.oga', '.opus', '.ogv'],
    types: ['audio/opus', 'video/ogg', 'application/ogg'],
    fits: starts('OggS'),
  },
  { type: 'audio/wav', ending: '.wav', types: ['audio/x-wav', 'audio/wave'], fits: riff('WAVE') },
  { type: 'audio/flac', ending: '.flac', types: ['audio/x-flac'], fits: starts('fLaC') },
  { type: 'audio/amr', ending: '.amr', fits: starts('#!AMR') },
  { type: 'audio/silk', ending: '.silk', fits: starts('#!SILK', '\x02#!SILK') },
  { type: 'audio/x-caf', ending: '.caf', fits: starts('caff') },
  {
    type: 'audio/aiff',
    ending: '.aiff',
    types: ['audio/x-aiff'],
    fits: (head) => head.startsWith('FORM') && head.startsWith('AIF', 8),
  },
  { type: 'audio/mp4', ending: '.m4a', types: ['audio/x-m4a', 'audio/m4a', 'audio/aac'], fits: brand(/^(?:M4A|M4B|F4A)/) },
  { type: 'video/3gpp', ending: '.3gp', types: ['audio/3gpp'], fits: brand(/^3g[gp2]/) },
  { type: 'video/quicktime', ending: '.mov', fits: brand(/^qt/) },
  { type: 'video/mp4', ending: '.mp4', endings: ['.m4v', '.m4a'], types: ['audio/mp4'], fits: brand(/^[ -~]{4}/) },
  {
    type: 'video/webm',
    ending: '.webm',
    endings: ['.mkv', '.mka', '.weba'],
    types: ['audio/webm', 'video/x-matroska'],
    fits: starts('\x1a\x45\xdf\xa3'),
  },
  {
    type: 'audio/x-ms-wma',
    ending: '.wma',
    endings: ['.wmv', '.asf'],
    types: ['video/x-ms-wmv', 'video/x-ms-asf'],
    fits: starts('\x30\x26\xb2\x75\x8e\x66\xcf\x11'),
  },
  { type: 'audio/aac', ending: '.aac', fits: starts('\xff\xf1', '\xff\xf9') },
  { type: 'audio/mpeg', ending: '.mp3', types: ['audio/mp3'], fits: (head) => head.startsWith('ID3') || isMp3Frame(head) },
  { type: 'application/vnd.microsoft.portable-executable', ending: '.exe', endings: ['.dll'], fits: isWindowsProgram },
  { type: 'application/x-executable', ending: '.elf', endings: ['.so'], fits: starts('\x7fELF') },
  { type: 'application/gzip', ending: '.gz', endings: ['.tgz'], types: ['application/x-gzip'], fits: starts('\x1f\x8b\x08') },
  { type: 'application/x-7z-compressed', ending: '.7z', fits: starts("7z\xbc\xaf'\x1c") },
  { type: 'application/vnd.rar', ending: '.rar', types: ['application/x-rar-compressed'], fits: starts('Rar!\x1a\x07') },
  {
    type: 'application/zip',
    ending: '.zip',
    endings: ZIPPED,
    types: ['application/x-zip-compressed'],
    fits: starts('PK\x03\x04', 'PK\x05\x06'),
  },
  // "%PDF-" may stand anywhere in the first 1,024 bytes (PDF Reference 1.7, appendix H, note 13).
  { type: 'application/pdf', ending: '.pdf', fits: (head) => /%PDF-\d\.\d/.test(head.slice(0, 1_024)) },
];

/**
 * Types inside a ZIP that a stated type may name: only unpacking tells them apart, which nothing here does.
 */
const ZIP_TYPES = /^application\/(?:vnd\.openxmlformats-officedocument\.|vnd\.oasis\.opendocument\.|epub\+zip$|java-archive$)/;

/** Recordings of sound alone have a type of their own; a transcriber is given these containers too. */
const SPEECH = /^(?:audio\/|video\/(?:mp4|webm|3gpp|quicktime)$)/;

function signatureOf(head: Uint8Array): Signature | undefined {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, FILE_HEAD_BYTES)).toString('latin1');
  return SIGNATURES.find(({ fits }) => fits(text));
}

/** A media type, by the first bytes; undefined for text and whatever else has no mark. */
export function fileTypeOf(head: Uint8Array): string | undefined {
  return signatureOf(head)?.type;
}

export interface SeenType {
  /** Undefined when neither the bytes nor a claim they do not contradict tell it. */
  readonly mime: string | undefined;
  /** With its dot and in lower case, or ''. */
  readonly ending: string;
}

/**
 * Settles what a file is taken for. Where the bytes have a mark, it decides, and a claim is kept only if it
 * names the same thing. Where they have none, a claim is kept unless it names something that would have a
 * mark. `ending` with its dot, as claimed.
 */
export function settleType(
  head: Uint8Array,
  claim: { readonly mime?: string | undefined; readonly ending?: string | undefined },
): SeenType {
  const found = signatureOf(head);
  const mime = claim.mime?.split(';', 1)[0]?.trim().toLowerCase();
  const ending = claim.ending?.toLowerCase();
  if (found) {
    const sameMime = mime !== undefined && (isTypeOf(found, mime) || (found.type === 'application/zip' && ZIP_TYPES.test(mime)));
    const sameEnding = ending !== undefined && isEndingOf(found, ending);
    return { mime: sameMime ? mime : found.type, ending: sameEnding ? ending : found.ending };
  }
  return {
    mime: mime === undefined || isMarked(mime) ? undefined : mime,
    ending: ending === undefined || SIGNATURES.some((one) => isEndingOf(one, ending)) ? '' : ending,
  };
}

function isTypeOf({ type, types = [] }: Signature, mime: string): boolean {
  return type === mime || types.includes(mime);
}

function isEndingOf({ ending, endings = [] }: Signature, claimed: string): boolean {
  return ending === claimed || endings.includes(claimed);
}

function isMarked(mime: string): boolean {
  return ZIP_TYPES.test(mime) || SIGNATURES.some((one) => isTypeOf(one, mime));
}

/** Whether a file with these first bytes can be a recording. */
export function isRecording(head: Uint8Array): boolean {
  const type = fileTypeOf(head);
  return type !== undefined && SPEECH.test(type);
}
