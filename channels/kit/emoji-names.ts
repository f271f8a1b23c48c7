/** Emoji <-> the names that a platform has for them. */
export interface EmojiNames {
  /** Undefined where the platform has no name. Colours of skin are not told apart. */
  nameOf(emoji: string): string | undefined;
  /** `:name:` where no character is known, as for emoji that people made; empty for an empty name. */
  emojiOf(name: string): string;
}

/**
 * `names`: character -> name, compared without regard to case. `aliases`: other names that the platform
 * reports, compared exactly.
 */
export function emojiNames(names: Readonly<Record<string, string>>, aliases: Readonly<Record<string, string>> = {}): EmojiNames {
  const byCharacter = new Map(Object.entries(names).map(([emoji, name]) => [plain(emoji), name]));
  const byName = new Map(Object.entries(names).map(([emoji, name]) => [name.toUpperCase(), emoji]));
  // Maps: people choose names such as `constructor`.
  const canonical = new Map(Object.entries(aliases));
  return {
    nameOf: (emoji) => byCharacter.get(plain(emoji)),
    emojiOf: (name) => byName.get((canonical.get(name) ?? name).toUpperCase()) ?? (name === '' ? '' : `:${name}:`),
  };
}

/** Without variation selectors and colours of skin. */
function plain(emoji: string): string {
  return emoji.replace(/[\u{FE0F}\u{1F3FB}-\u{1F3FF}]/gu, '');
}
