/** Far below every platform's limit, and what a person can read. */
const MAX_BYTES = 120;
/** Names that Windows gives to devices, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;
/**
 * Separators, characters Windows refuses, controls, and marks that turn the reading direction ("gpj.exe" for
 * "exe.jpg").
 */
const UNSAFE = /[/\\:*?"<>|\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u2044\u2215\uff0f\uff3c]/gu;

/**
 * The name a file travels under (attack A23): one plain name that no receiver takes for a path, an option, a
 * device or a hidden file. Keeps the extension when it must shorten.
 */
export function attachmentName(name: string): string {
  const flat = (name.split(/[/\\]/).at(-1) ?? '')
    .toWellFormed()
    .replace(UNSAFE, '_')
    .replace(/(?<![. ])[. ]+$/u, '');
  const visible = flat.replace(/^[-.\s]+/u, '_');
  const safe = DEVICE.test(visible) ? `_${visible}` : visible;
  if (safe === '') return 'file';
  const dot = safe.lastIndexOf('.');
  const extension = dot > 0 && safe.length - dot <= 12 ? safe.slice(dot) : '';
  return cutBytes(safe.slice(0, safe.length - extension.length), MAX_BYTES - Buffer.byteLength(extension)) + extension;
}

function cutBytes(text: string, limit: number): string {
  let bytes = 0;
  let kept = '';
  for (const char of text) {
    bytes += Buffer.byteLength(char);
    if (bytes > limit) break;
    kept += char;
  }
  return kept;
}
