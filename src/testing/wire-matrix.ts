/** Which scenario of which wire passed; printed at the end of a run. */
export class WireMatrix<Scenario extends string> {
  readonly #scenarios: readonly Scenario[];
  readonly #cells = new Map<string, Map<Scenario, 'ok' | 'FAIL'>>();

  constructor(scenarios: readonly Scenario[]) {
    this.#scenarios = scenarios;
  }

  set(wire: string, scenario: Scenario, result: 'ok' | 'FAIL'): void {
    const row = this.#cells.get(wire) ?? new Map<Scenario, 'ok' | 'FAIL'>();
    this.#cells.set(wire, row.set(scenario, result));
  }

  /** Cells that are not `ok`, as `wire/scenario`; cells of a known wire that never ran count. */
  missing(): string[] {
    return [...this.#cells].flatMap(([wire, row]) =>
      this.#scenarios.filter((scenario) => row.get(scenario) !== 'ok').map((scenario) => `${wire}/${scenario}`),
    );
  }

  toString(): string {
    const wires = [...this.#cells.keys()];
    const first = Math.max(...this.#scenarios.map((scenario) => scenario.length));
    const row = (name: string, cells: readonly string[]) =>
      [name.padEnd(first), ...cells.map((cell, i) => cell.padEnd(wires[i]?.length ?? 0))].join('  ').trimEnd();
    return [
      row('', wires),
      ...this.#scenarios.map((scenario) =>
        row(
          scenario,
          wires.map((wire) => this.#cells.get(wire)?.get(scenario) ?? '-'),
        ),
      ),
    ].join('\n');
  }
}
