let loaded: Promise<typeof import('croner')> | undefined;

/**
 * The first time after `after` that an expression of five to seven fields names in a time zone; undefined =
 * there is none any more. Rejects with croner's sentence where it cannot read the expression. The package is
 * loaded with the first expression, so that a daemon without one does not pay for it.
 */
export async function nextOf(expr: string, timezone: string, after: number): Promise<number | undefined> {
  loaded ??= import('croner');
  const { Cron } = await loaded;
  const cron = new Cron(expr, { timezone, paused: true });
  return cron.nextRun(new Date(after))?.getTime();
}
