export const everywhere = '*'

/** The type of an instance scope, "" of "*". */
export function typeOf(scope: string): string {
  const at = scope.indexOf(':')
  return at < 0 ? '' : scope.slice(0, at)
}

export function instanceOf(scope: string): string {
  const at = scope.indexOf(':')
  return at < 0 ? scope : scope.slice(at + 1)
}

export function namespaceOf(scope: string): string {
  return typeOf(scope).split('.')[0] ?? ''
}
