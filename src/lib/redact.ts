/** A shorter value would blank out ordinary words. */
const MIN_SECRET = 4;

/**
 * Builds a function that replaces every registered secret in a text by `[secret]`, also where it was base64,
 * base64url, hex, percent- or JSON-encoded, alone or inside a longer value. `secrets` is asked at each call,
 * so values learnt later count too.
 */
export function createRedactor(secrets: () => readonly string[]): (text: string) => string {
  let known: readonly string[] = [];
  let pattern: RegExp | undefined;
  return (text) => {
    const current = secrets();
    if (current.length !== known.length || current.some((secret, index) => secret !== known[index])) {
      known = [...current];
      pattern = compile(known);
    }
    return pattern ? text.replace(pattern, '[secret]') : text;
  };
}

function compile(secrets: readonly string[]): RegExp | undefined {
  const forms = new Set(secrets.filter((secret) => secret.length >= MIN_SECRET).flatMap(encodedForms));
  if (forms.size === 0) return undefined;
  // Longest first: a secret that begins with another one must go as a whole.
  const sorted = [...forms].sort((a, b) => b.length - a.length);
  return new RegExp(sorted.map((form) => escapePattern(form)).join('|'), 'g');
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** How a secret may be written: as is, base64, base64url, hex, percent- and JSON-encoded; some come twice. */
export function encodedForms(secret: string): readonly string[] {
  const percent = encodeURIComponent(secret.toWellFormed());
  const strict = percent.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams([['', secret]]).toString().slice(1);
  const percents = [percent, strict, form].flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase())]);
  const hex = Buffer.from(secret).toString('hex');
  return [secret, JSON.stringify(secret).slice(1, -1), ...percents, hex, hex.toUpperCase(), ...base64Forms(secret)];
}

/**
 * Base64 works on groups of three bytes, so a secret inside a longer value (`user:password` of basic auth)
 * has one of three spellings. Characters that also depend on its neighbours are left off at both ends.
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const forms: string[] = [];
  for (const shift of [0, 1, 2]) {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const start = shift === 0 ? 0 : shift + 1;
    const end = Math.floor(((shift + bytes.length) * 8) / 6);
    const stable = encoded.slice(start, end);
    // Fewer characters would match by chance.
    if (stable.length >= 6) forms.push(stable, stable.replaceAll('+', '-').replaceAll('/', '_'));
  }
  const whole = bytes.toString('base64');
  return [...forms, whole, bytes.toString('base64url')];
}
