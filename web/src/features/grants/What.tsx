import type { GrantInput } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { At, Id, Name, SubjectName, Time } from '../../ui/Id.tsx'

/** A grant in a line: what, to whom or from whom, where, until when. */
export function What({ of, from = false }: { of: GrantInput; from?: boolean }) {
  return (
    <>
      {of.roleId ? <>{t.explain.role} <Name of={of.roleId} /></> : <Id of={of.pattern ?? ''} />} {from ? t.explain.from : t.explain.to} <strong><SubjectName of={of.subject} /></strong> <At of={of.scope ?? '*'} />
      {of.expiresAt ? <> {t.give.until} <Time at={of.expiresAt} /></> : <span className="dim">, {t.give.forever}</span>}
    </>
  )
}
