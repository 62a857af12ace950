import { holdsAnywhere } from '../../api/gates.ts'
import { useAsk, useMe } from '../../api/queries.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'

/** Whose rows are listed: those everywhere, or those at the scopes of one application. */
export function Homes({ org, home, onChange }: { org: string; home: string; onChange: (home: string | undefined) => void }) {
  const me = useMe()
  const apps = useAsk('GET /orgs/{org}/applications', { path: { org }, query: { limit: 200 } }, { on: holdsAnywhere(me.data, 'cloud.applications.read') })
  const list = apps.data?.applications.filter(a => a.state !== 'registered') ?? []
  return (
    <select className="input" aria-label={t.grants.home} value={home} onChange={e => onChange(e.target.value || undefined)}>
      <option value="">{t.grants.everywhereRows}</option>
      {list.map(a => <option key={a.id} value={a.id}>{t.grants.rowsOf(visible(a.name))}</option>)}
      {home && !list.some(a => a.id === home) && <option value={home}>{visible(home)}</option>}
    </select>
  )
}
