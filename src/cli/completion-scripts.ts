/**
 * What each shell is told. All ask `gatehouse complete` with the line up to the cursor and take what it
 * prints literally, a candidate a line: nothing of it is evaluated.
 */
export const SHELLS = ['bash', 'zsh', 'fish', 'pwsh'] as const;
export type Shell = (typeof SHELLS)[number];

// Bash breaks words at colons, which ids have; what stands before the last one is on the line already.
const BASH = `_gatehouse() {
  local line="\${COMP_LINE:0:COMP_POINT}" current before candidate
  current="\${line##*[[:space:]]}"
  before="\${current%"\${current##*:}"}"
  COMPREPLY=()
  while IFS= read -r candidate; do
    [[ "$candidate" == "$current"* ]] && COMPREPLY+=("\${candidate#"$before"}")
  done < <(command gatehouse complete --line "$line" 2>/dev/null)
}
complete -o default -F _gatehouse gatehouse
`;

const ZSH = `#compdef gatehouse
_gatehouse() {
  local -a candidates
  candidates=("\${(@f)$(command gatehouse complete --line "\${BUFFER[1,CURSOR]}" 2>/dev/null)}")
  candidates=(\${candidates:#})
  if (( $#candidates )); then compadd -a candidates; else _files; fi
}
compdef _gatehouse gatehouse
`;

const FISH = `complete -c gatehouse -f -a '(command gatehouse complete --line (commandline -cp) 2>/dev/null)'
`;

const PWSH = `Register-ArgumentCompleter -Native -CommandName gatehouse -ScriptBlock {
  param($word, $tree, $cursor)
  $line = $tree.ToString()
  if ($line.Length -lt $cursor) { $line += ' ' }
  gatehouse complete --line $line 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}
`;

export const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH, pwsh: PWSH };
/** Where each shell looks for it, for the hint. */
export const PLACES: Readonly<Record<Shell, string>> = {
  bash: 'eval "$(gatehouse completion bash)" in ~/.bashrc',
  zsh: 'eval "$(gatehouse completion zsh)" in ~/.zshrc, after compinit',
  fish: 'gatehouse completion fish > ~/.config/fish/completions/gatehouse.fish',
  pwsh: 'gatehouse completion pwsh | Out-String | Invoke-Expression in $PROFILE',
};
