import { Link } from '@tanstack/react-router'
import type { NearRequest } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'

/** Leads to each request that the answer offers, filled in. */
export function AskFor({ org, requests }: { org: string; requests: NearRequest[] }) {
  return (
    <div className="row">
      {requests.map(r => {
        const what = r.roleId ? { role: r.roleId } : { pattern: r.pattern ?? '' }
        return <Link key={`${r.roleId} ${r.pattern} ${r.scope}`} className="button small" to="/orgs/$org/ask" params={{ org }} search={{ ...what, scope: r.scope }}>{t.explain.askFor(visible(r.roleId ?? r.pattern ?? ''))}</Link>
      })}
    </div>
  )
}
