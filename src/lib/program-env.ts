/** What a program of a tool may know: where programs and the home are, the language and the time zone. */
export function programEnv(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(['PATH', 'HOME', 'LANG', 'TZ'].flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}
