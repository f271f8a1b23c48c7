import { execFileSync } from 'node:child_process';

/**
 * What a module prints that runs in a process of its own with no descriptor left. `imports` stand in front of
 * it. `script` calls `free()`, which gives the descriptors back, before it prints. An exception that nothing
 * catches is printed as `uncaught` and its code.
 */
export function withoutDescriptors(imports: string, script: string): string {
  const whole = `
    import { closeSync, openSync } from 'node:fs';
    ${imports}
    const held = [];
    const free = () => { for (const one of held.splice(0)) closeSync(one); };
    process.on('uncaughtException', (error) => { free(); console.log('uncaught', error.code ?? error.message); });
    console.log('begun');
    try { for (;;) held.push(openSync('/dev/null')); } catch (error) { if (error.code !== 'EMFILE') throw error; }
    ${script}`;
  const node = [process.execPath, '--input-type=module', '-e', whole];
  return execFileSync('sh', ['-c', 'ulimit -n 200; exec "$@"', 'sh', ...node], { encoding: 'utf8' })
    .replace('begun\n', '')
    .trim();
}

/** An import of `names` from a file; `from`: `import.meta.url` of the test. */
export function importOf(names: string, file: string, from: string): string {
  return `import { ${names} } from ${JSON.stringify(new URL(file, from).href)};`;
}
