/** How the tables name a family of models: plain text, compared in lower case. Every part that is given must hold. */
export interface NamePattern {
  /** One of these is contained. */
  readonly any?: readonly string[] | undefined;
  /** All of these are contained. */
  readonly all?: readonly string[] | undefined;
  /** None of these is contained. */
  readonly none?: readonly string[] | undefined;
  /** The name without its maker (`openai/o3` -> `o3`) starts with one of these. */
  readonly prefix?: readonly string[] | undefined;
}

/** First row that fits the model name. */
export function firstMatch<Row extends NamePattern>(rows: readonly Row[], model: string): Row | undefined {
  const name = model.toLowerCase();
  const bare = bareName(name);
  return rows.find(
    ({ any, all, none, prefix }) =>
      (any?.some((part) => name.includes(part)) ?? true) &&
      (all?.every((part) => name.includes(part)) ?? true) &&
      !none?.some((part) => name.includes(part)) &&
      (prefix?.some((part) => bare.startsWith(part)) ?? true),
  );
}

/** `anthropic/claude-opus-4` -> `claude-opus-4`. */
export function bareName(model: string): string {
  return model.slice(model.lastIndexOf('/') + 1);
}
