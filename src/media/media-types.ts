/** File extensions with the media types people send each other. */
const MIME_BY_EXTENSION: Readonly<Record<string, string>> = {
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.png': 'image/png',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.ogg': 'audio/ogg',
  '.oga': 'audio/ogg',
  '.mp3': 'audio/mpeg',
  '.m4a': 'audio/mp4',
  '.wav': 'audio/wav',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.txt': 'text/plain',
  '.md': 'text/markdown',
  '.csv': 'text/csv',
  '.json': 'application/json',
};

/** By extension with its dot, lower case; undefined when unknown. */
export function mimeOf(extension: string): string | undefined {
  return Object.hasOwn(MIME_BY_EXTENSION, extension) ? MIME_BY_EXTENSION[extension] : undefined;
}

/** The usual extension of a media type (parameters are ignored), with its dot; undefined when unknown. */
export function extensionOf(mime: string): string | undefined {
  const type = mime.split(';', 1)[0]?.trim().toLowerCase();
  return Object.entries(MIME_BY_EXTENSION).find(([, known]) => known === type)?.[0];
}
