export const refusal = {
  proof: 'This change needs a sign-in of the last 15 minutes.',
  signIn: 'Sign in again',
  lacks: (missing: Array<{ key: string; scope: string }>) => `It confers what you do not hold: ${missing.map(m => `${m.key} at ${m.scope}`).join(', ')}.`,
  lastOwner: 'Nobody takes from the last owner who can act. Make somebody else an owner first.',
  ownerOnly: 'Only an owner may do this.',
}
