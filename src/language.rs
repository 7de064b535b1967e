//! Languages that people are spoken to in.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A language of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(feature = "program", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English
    #[default]
    En,
    /// Chinese
    Zh,
}

/// Variables of the environment that hold a locale, the first that is set counts (POSIX, chapter 8.2).
const LOCALES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

impl Language {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::En, Self::Zh];

    /// The language's tag, as HTML spells it.
    pub fn tag(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh-CN",
        }
    }

    /// The word that flags and the policy file name it by.
    pub fn word(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }

    /// The language of a word such as `zh`; `None` where it is none.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.word() == word)
    }

    /// The language of the environment's locale: Chinese for `zh_CN.UTF-8`, English for every other and for none.
    ///
    /// ```
    /// use precision_gate::language::Language;
    ///
    /// let of = |locale: &str| Language::of_locale(|name| (name == "LANG").then(|| locale.to_owned()));
    /// assert_eq!((of("zh_CN.UTF-8"), of("C")), (Language::Zh, Language::En));
    /// ```
    pub fn of_locale(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = LOCALES.into_iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
        let language = set.as_deref().and_then(|locale| locale.split(['_', '.', '-', '@']).next()).unwrap_or_default();
        Self::from_word(&language.to_lowercase()).unwrap_or_default()
    }
}
