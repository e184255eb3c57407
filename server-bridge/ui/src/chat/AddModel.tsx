import { Sparkles } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useFrame } from "../frame/context";
import styles from "./chat.module.css";
import composer from "./composer/composer.module.css";

/** A button that opens the settings to add a model, shown if no model is set up. */
export function AddModelButton() {
  const { t } = useTranslation("chat");
  const { openSettings } = useFrame();
  return (
    <button type="button" className={`quiet ${composer.picker}`} onClick={() => openSettings("models")}>
      <Sparkles aria-hidden="true" />
      <span>{t("addModel")}</span>
    </button>
  );
}

/** Explains that a message was not answered because no model is set up, and offers to add one. */
export function NoModelBar() {
  const { t } = useTranslation("chat");
  const { openSettings } = useFrame();
  return (
    <div className={`${styles.turnBar} ${styles.noModel}`} role="status">
      <span>{t("noModel")}</span>
      <button type="button" className="primary" onClick={() => openSettings("models")}>
        {t("addModel")}
      </button>
    </div>
  );
}
