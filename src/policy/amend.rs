//! Adding a waiver to the text of a policy file, with its comments and layout unchanged.

/// The policy `text` with one more waiver, the first of them, whose keys and YAML scalars are `fields`.
///
/// The list is found by its line. Callers have to read the new text as a policy, because YAML allows unusual forms of lists
/// that this function does not know.
pub fn with_waiver(text: &str, fields: &[(&str, String)]) -> String {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let Some(value) = line.strip_prefix("waivers:") else {
            at += line.len();
            continue;
        };
        if let Some(bracket) = value.find('[').filter(|bracket| value[..*bracket].trim().is_empty()) {
            return in_flow(text, at + "waivers:".len() + bracket + 1, fields);
        }
        return in_block(text, at + line.len(), fields);
    }
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}waivers:\n{}", block(fields, "  "))
}

/// Inserts the waiver after the bracket at `at`.
fn in_flow(text: &str, at: usize, fields: &[(&str, String)]) -> String {
    let (before, behind) = text.split_at(at);
    let pairs: Vec<String> = fields.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    let comma = if behind.trim_start().starts_with(']') { "" } else { ", " };
    format!("{before}{{ {} }}{comma}{behind}", pairs.join(", "))
}

/// Inserts the waiver after the line that ends at `at`.
fn in_block(text: &str, at: usize, fields: &[(&str, String)]) -> String {
    let (before, behind) = text.split_at(at);
    let end = if before.ends_with('\n') { "" } else { "\n" };
    let is_item = |line: &&str| line.trim_start().starts_with("- ");
    let first = behind.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let indent = first.filter(is_item).and_then(|line| line.split('-').next()).unwrap_or("  ");
    format!("{before}{end}{}{behind}", block(fields, indent))
}

fn block(fields: &[(&str, String)], indent: &str) -> String {
    let line = |(index, (key, value)): (usize, &(&str, String))| {
        format!("{indent}{} {key}: {value}\n", if index == 0 { "-" } else { " " })
    };
    fields.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    const ONE: &str = "{ code: nan-appears, where: 'a', reason: r, owner: o, expires: 2026-12-01 }";

    #[test]
    fn every_way_to_write_the_list_gains_one() {
        let fields = [
            ("code", "output-diverges".to_owned()),
            ("where", "\"*\"".to_owned()),
            ("reason", "\"it's: so\"".to_owned()),
            ("owner", "\"li\"".to_owned()),
            ("expires", "2026-12-24".to_owned()),
        ];
        for (before, waivers) in [
            (String::new(), 1),
            ("profile: strict\n".into(), 1),
            ("profile: strict".into(), 1),
            ("waivers: []\n".into(), 1),
            (format!("waivers: [{ONE}] # known\nprofile: strict\n"), 2),
            (format!("waivers: [\n  {ONE},\n]\n"), 2),
            (format!("waivers: # kept\n  # the first\n  - {ONE}\nprofile: strict\n"), 2),
            (format!("profile: strict\nwaivers:\n- {ONE}\n- {ONE}"), 3),
            ("waivers:\nprofile: strict\n".into(), 1),
            ("waivers:".into(), 1),
        ] {
            let after = with_waiver(&before, &fields);
            let policy = Policy::parse("p.yml", &after, &["output-diverges", "nan-appears"])
                .unwrap_or_else(|error| panic!("{error}\n{after}"));
            assert_eq!(policy.waivers.len(), waivers, "{after}");
            assert_eq!(policy.waivers.first().map(|waiver| waiver.reason.as_str()), Some("it's: so"), "{after}");
            for line in before.lines().filter(|line| line.contains('#') || line.contains("profile")) {
                assert!(after.contains(line.split('[').next().unwrap_or(line)), "{line} is gone:\n{after}");
            }
        }
    }
}
