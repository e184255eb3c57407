import { Sparkles } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useFrame } from "../frame/context";
import styles from "./chat.module.css";
import composer from "./composer/composer.module.css";

/** The button that leads to adding a model, where there is none. */
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

/** Says why a message was not answered, and what to do about it. */
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
