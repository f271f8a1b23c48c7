/** What any program that is started for a tool may know: where programs and the home are, and how people here write and count. */
export function programEnv(env: Readonly<Record<string, string | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(['PATH', 'HOME', 'LANG', 'TZ'].flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
}
