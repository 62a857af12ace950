import type { AuditEntry } from '../../api/schema.gen.ts'
import { aboutOf, rowsOf } from '../../domain/audit.ts'
import { t } from '../../text/en.ts'
import { Id, SubjectName, What } from '../../ui/Id.tsx'

/** In a list, whom an event concerns and with what; its target where that is nobody. */
export function About({ of: e }: { of: Pick<AuditEntry, 'action' | 'target' | 'detail'> }) {
  const about = aboutOf(e)
  const rows = rowsOf(e)
  if (rows !== null) return <span className="dim">{t.audit.rows(rows)}</span>
  if (!about) return <Id of={e.target} />
  return (
    <>
      <SubjectName of={about.subject} />{' '}
      <span className="dim">{(about.roleId || about.pattern) && <What of={about} />} {about.scope && about.scope !== '*' && <Id of={about.scope} />}</span>
    </>
  )
}
