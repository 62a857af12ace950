export const secret = {
  name: 'Secret',
  hint: 'It is shown this once. Keep it now: nobody can show it again.',
  withheld: 'The secret was in the first answer, which was lost on its way, and is kept nowhere. Rotate for a new one.',
  copy: 'Copy the secret',
  copied: 'The secret is copied.',
  show: 'Show',
  hide: 'Hide',
}
