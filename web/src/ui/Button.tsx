import type { ReactNode } from 'react'
import { Button as AriaButton, TooltipTrigger, Tooltip } from 'react-aria-components'

interface Props {
  children: ReactNode
  onPress?: () => void
  kind?: 'main' | 'danger' | 'bare' | 'danger main'
  small?: boolean
  wide?: boolean
  type?: 'button' | 'submit'
  /** It was pressed and is at work: another press does nothing. */
  busy?: boolean
  label?: string
  expanded?: boolean
  /** Why it cannot be used now: it stays, and says so. */
  reason?: string | null
}

export function Button({ children, onPress, kind, small, wide, type = 'button', busy, label, expanded, reason }: Props) {
  const className = ['button', kind, small && 'small', wide && 'wide'].filter(Boolean).join(' ')
  if (reason) {
    return (
      <TooltipTrigger delay={200}>
        <AriaButton className={className} aria-disabled="true" aria-label={label} type="button">{children}</AriaButton>
        <Tooltip className="popover inside-tip" offset={6}>{reason}</Tooltip>
      </TooltipTrigger>
    )
  }
  return (
    <AriaButton className={className} type={busy ? 'button' : type} onPress={busy ? undefined : onPress} aria-disabled={busy || undefined} aria-label={label} aria-expanded={expanded}>
      {children}
    </AriaButton>
  )
}
