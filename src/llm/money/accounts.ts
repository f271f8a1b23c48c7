/** Whole billionths of a dollar: sums of fractions drift, and what is freed must be exactly what was held. */
const UNITS = 1e9;

interface Account {
  spent: number;
  held: number;
  /** Epoch ms; only jobs have it: they outlive days. */
  usedAt?: number;
}

/** Sums by key, in USD at the surface. A key without sums takes no memory. */
export class Accounts {
  readonly #accounts = new Map<string, Account>();
  /** Keys whose sums one limit counts together. */
  readonly linked: (key: string) => readonly string[];

  /** `linked`: keys whose sums one limit counts together, this one among them. Default: none but itself. */
  constructor(linked: (key: string) => readonly string[] = (key) => [key]) {
    this.linked = linked;
  }

  totals(key: string): { readonly spentUsd: number; readonly reservedUsd: number } {
    const { spent, held } = this.#sum(key);
    return { spentUsd: spent / UNITS, reservedUsd: held / UNITS };
  }

  fits(key: string, limitUsd: number, worstUsd: number): boolean {
    const { spent, held } = this.#sum(key);
    return spent + held + worstUnits(worstUsd) <= Math.round(limitUsd * UNITS);
  }

  /** Whether it would fit if every running call turned out to cost nothing. */
  fitsLater(key: string, limitUsd: number, worstUsd: number): boolean {
    return this.#sum(key).spent + worstUnits(worstUsd) <= Math.round(limitUsd * UNITS);
  }

  hold(key: string, usd: number): void {
    this.#of(key).held += worstUnits(usd);
  }

  free(key: string, usd: number): void {
    this.#of(key).held -= worstUnits(usd);
  }

  /** `at`: the day, for keys of jobs. */
  spend(key: string, usd: number, at?: number): void {
    const account = this.#of(key);
    account.spent += Math.round(usd * UNITS);
    if (at !== undefined && key.startsWith('job:')) account.usedAt = at;
    if (account.spent === 0 && account.held === 0) this.#accounts.delete(key);
  }

  /** Forgets what was spent, except by jobs used since; what is held for running calls stays held. */
  newDay(jobsSince: number): void {
    for (const [key, account] of this.#accounts) {
      if (key.startsWith('job:') && (account.usedAt ?? jobsSince) >= jobsSince) continue;
      account.spent = 0;
      if (account.held === 0) this.#accounts.delete(key);
    }
  }

  #sum(key: string): Readonly<Pick<Account, 'spent' | 'held'>> {
    const sum = { spent: 0, held: 0 };
    for (const one of this.linked(key)) {
      const account = this.#accounts.get(one);
      sum.spent += account?.spent ?? 0;
      sum.held += account?.held ?? 0;
    }
    return sum;
  }

  #of(key: string): Account {
    let account = this.#accounts.get(key);
    if (!account) {
      account = { spent: 0, held: 0 };
      this.#accounts.set(key, account);
    }
    return account;
  }
}

/** Rounded up: a reservation is never less than the call may cost. */
function worstUnits(usd: number): number {
  return Math.ceil(usd * UNITS);
}
