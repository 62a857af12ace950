import { Link, useRouterState } from '@tanstack/react-router'
import { visible } from '../domain/visible.ts'
import { refusal as t } from '../text/refusal.ts'
import type { Trouble } from './States.tsx'

/** What a refusal means for the reader, and the next step where there is one. */
export function refusal({ code, fields }: Trouble) {
  switch (code) {
    case 'proof_required':
      return <SignInAgain />
    case 'last_owner':
      return <span>{t.lastOwner}</span>
    case 'owner_required':
      return <span>{t.ownerOnly}</span>
    case 'escalation_refused':
      return Array.isArray(fields?.missing) && fields.missing.length > 0 ? <span>{visible(t.lacks(fields.missing))}</span> : null
    default:
      return null
  }
}

/** Leads through another sign-in, and back to this address. */
function SignInAgain() {
  const href = useRouterState({ select: s => s.location.href })
  const org = /^\/orgs\/([^/?]+)/.exec(href)?.[1]
  return <><span>{t.proof}</span><Link className="button small" to="/sign-in" search={{ ...(org ? { org: decodeURIComponent(org) } : {}), returnTo: '/dashboard' + href }}>{t.signIn}</Link></>
}
