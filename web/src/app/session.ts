import { onSignedOut } from '../api/call.ts'
import { queries } from '../api/queries.ts'
import { router } from './router.tsx'

// Other windows hear who signed in or out here, and empty their memory.
const windows = new BroadcastChannel('authz')

/** Empties what was read, and keeps the address through the sign-in. */
function signedOut() {
  const { pathname, href } = router.state.location
  queries.clear()
  if (pathname === '/sign-in') return
  void router.navigate({ to: '/sign-in', search: { returnTo: '/dashboard' + href }, replace: true })
}

export function watchSession() {
  onSignedOut(signedOut)
  windows.onmessage = e => {
    if (e.data === 'out') signedOut()
    else location.reload() // as somebody: the screens are read anew
  }
  document.addEventListener('authz:session', e => windows.postMessage((e as CustomEvent<string>).detail))
}
