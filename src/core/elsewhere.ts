/** Ids of parts that tell the end of a run in another chat than the one that asked for it. */

const ELSEWHERE = '#elsewhere';

/** The id of what tells the end of a run in another chat than the one that asked for it. */
export function elsewhereId(key: string): string {
  return `${key}${ELSEWHERE}`;
}

export function isElsewhere(id: string): boolean {
  return id.endsWith(ELSEWHERE);
}

/** Key of the run that a part belongs to. Parts of an earlier version named what tells its end elsewhere. */
export function runOfPart({ messageId }: { readonly messageId?: string }): string | undefined {
  return messageId !== undefined && isElsewhere(messageId) ? messageId.slice(0, -ELSEWHERE.length) : messageId;
}
