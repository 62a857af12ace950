import { Link } from '@tanstack/react-router'
import { useAsk, useOrg } from '../../api/queries.ts'
import type { Missing } from '../../api/schema.gen.ts'
import { drift as t } from '../../text/registry.ts'
import { t as all } from '../../text/en.ts'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeName, SubjectLink, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Loaded } from '../../ui/States.tsx'
import type { Answer } from '../../api/call.ts'

type Told = Answer<'GET /orgs/{org}/registry/drift'>

/** Rows and imports that name what no catalog has. */
export function Drift() {
  const org = useOrg()
  const drift = useAsk('GET /orgs/{org}/registry/drift', { path: { org } })
  const application: Column<{ application: string }> = { id: 'at', title: t.at, width: 'minmax(0, 0.7fr)', cell: r => <span className="dim"><Name of={r.application || all.person.root} /></span> }
  const names = { id: 'missing', title: t.missing, width: 'minmax(0, 1.4fr)', cell: (r: { missing: Missing[] }) => <Named of={r.missing} /> }
  const roles: Array<Column<Told['roles'][number]>> = [
    { id: 'role', title: t.role, width: 'minmax(0, 1fr)', cell: r => <Link to="/orgs/$org/roles/$id" params={{ org, id: r.roleId }}><Name of={r.name || r.roleId} /></Link> },
    names, application,
  ]
  const grants: Array<Column<Told['grants'][number]>> = [
    { id: 'subject', title: t.subject, width: 'minmax(0, 1fr)', cell: r => <SubjectLink org={org} of={r.subject} /> },
    names,
    { id: 'scope', title: t.scope, width: 'minmax(0, 1fr)', cell: r => <Link to="/orgs/$org/grants" params={{ org }} search={{ subject: r.subject, open: r.grantId, ...(r.scope === '*' ? {} : { home: r.application }) }}><ScopeName of={r.scope} /></Link> },
    application,
  ]
  return (
    <Page title={t.title} lead={t.lead}>
      <Loaded of={drift}>
        {d => (
          <div className="stack">
            <p className="dim">{t.asOf} <Time at={d.generatedAt} />.</p>
            {d.unavailable.length > 0 && <div className="note mind" role="alert"><p>{t.unavailable} {d.unavailable.map(u => `${u.application || all.person.root} (${u.code})`).join(', ')}</p></div>}
            {d.roles.length + d.grants.length + d.imports.length === 0 && <div className="card"><Empty title={d.unavailable.length ? t.noneOfAsked : t.none}>{d.unavailable.length === 0 && <p>{t.noneHint}</p>}</Empty></div>}
            {d.roles.length > 0 && <section className="stack close"><h2>{t.roles}</h2><Grid label={t.roles} rows={d.roles} columns={roles} lines={3} rowId={r => `${r.application} ${r.roleId}`} empty={null} /></section>}
            {d.grants.length > 0 && <section className="stack close"><h2>{t.grants}</h2><Grid label={t.grants} rows={d.grants} columns={grants} lines={3} rowId={r => `${r.application} ${r.grantId}`} empty={null} /></section>}
            {d.imports.length > 0 && (
              <section className="card"><header><h2>{t.imports}</h2></header>
                <ul className="list bounded" tabIndex={0} aria-label={t.imports}>{d.imports.map(i => <li key={`${i.application} ${i.namespace} ${i.pattern}`}><span className="grow"><Name of={i.message} /></span><span className="small dim">{t.since} <Time at={i.tombstonedAt} date /></span></li>)}</ul>
              </section>
            )}
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function Named({ of }: { of: Missing[] }) {
  const why = (m: Missing) => <span className="dim">{t.reasons[m.reason] ?? m.reason}{m.since ? <span className="least"> {t.since} <Time at={m.since} date /></span> : null}</span>
  const [only] = of
  if (only && of.length === 1) return <span className="keeps"><span className="cut"><Id of={only.pattern} /></span>{why(only)}</span>
  return <>{of.map((m, i) => <span key={m.pattern}>{i > 0 && ', '}<Id of={m.pattern} /> {why(m)}</span>)}</>
}
