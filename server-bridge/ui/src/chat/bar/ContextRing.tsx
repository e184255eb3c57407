import { Popover } from "radix-ui";
import { useTranslation } from "react-i18next";
import type { ChatDetails } from "../../types";
import { classes } from "../../lib/classes";
import styles from "../composer/composer.module.css";
import menus from "../../kit/Menu.module.css";

const RADIUS = 7;
const ROUND = 2 * Math.PI * RADIUS;
const MICROS = 1_000_000;

/** Shows how full the model's context window is; a click shows the chat's usage in detail. */
export function ContextRing({ details }: { details: ChatDetails }) {
  const { t } = useTranslation("chat");
  const { context, usage } = details;
  const share = context === null ? 0 : Math.min(1, context.used_tokens / Math.max(1, context.window_tokens));
  const percent = Math.round(share * 100);
  const name = context === null ? t("context.unknown") : t("context.label", { percent, window: figure(context.window_tokens) });
  const tone = share > 0.9 ? "bad" : share > 0.75 ? "warn" : "";
  return (
    <Popover.Root>
      <Popover.Trigger asChild>
        <button type="button" className={classes("quiet", styles.ring, styles[tone])} aria-label={name} title={name}>
          <svg viewBox="0 0 18 18" aria-hidden="true">
            <circle cx="9" cy="9" r={RADIUS} />
            <circle className={styles.used} cx="9" cy="9" r={RADIUS} strokeDasharray={`${share * ROUND} ${ROUND}`} />
          </svg>
          <span>{usage.cost_micros > 0 ? cost(usage.cost_micros) : context !== null && `${percent} %`}</span>
        </button>
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className={`${menus.menu} ${styles.usage}`} align="end" side="top" sideOffset={4} collisionPadding={8} aria-label={t("context.title")}>
          <dl>
            {context !== null && (
              <>
                <dt>{t("context.used")}</dt>
                <dd>{t("context.usedOf", { used: figure(context.used_tokens), window: figure(context.window_tokens) })}</dd>
                <dt>{t("context.model")}</dt>
                <dd>{context.model}</dd>
              </>
            )}
            <dt>{t("context.calls")}</dt>
            <dd>{figure(usage.calls)}</dd>
            <dt>{t("context.input")}</dt>
            <dd>{t("context.tokens", { count: usage.input_tokens })}</dd>
            <dt>{t("context.cached")}</dt>
            <dd>{t("context.tokens", { count: usage.cache_read_tokens })}</dd>
            <dt>{t("context.output")}</dt>
            <dd>{t("context.tokens", { count: usage.output_tokens })}</dd>
            <dt>{t("context.cost")}</dt>
            <dd>{usage.cost_micros > 0 || usage.calls === 0 ? cost(usage.cost_micros) : t("context.unknownCost")}</dd>
          </dl>
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** "950", "12k", "1.2M". Not `Intl.NumberFormat`, which takes 26 ms of the first view for this one number. */
function figure(count: number): string {
  const [size, unit] = [[1_000_000, "M"] as const, [1_000, "k"] as const].find(([size]) => count >= size) ?? [1, ""];
  return `${Math.floor((count / size) * 10) / 10}${unit}`;
}

function cost(micros: number): string {
  const dollars = micros / MICROS;
  return `$${dollars.toFixed(dollars > 0 && dollars < 0.1 ? 4 : 2)}`;
}
